package main

import (
	"strings"
	"sync"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/utils"
)

// known is how long an answer of iptables counts: what others change about the chains that all policies share is mended that late.
const known = time.Minute

// memory is iptables that remembers what it found. For each pod that comes or goes, kube-router makes sure that some twenty rules and
// chains are still there which it made when it started, with a process for each.
type memory struct {
	utils.IPTablesHandler

	lock  sync.Mutex
	there map[string]time.Time
	lists map[string]list
}

type list struct {
	rules []string
	at    time.Time
}

func remember(table utils.IPTablesHandler) *memory {
	return &memory{IPTablesHandler: table, there: map[string]time.Time{}, lists: map[string]list{}}
}

func (m *memory) Exists(table, chain string, rule ...string) (bool, error) {
	return m.found(key(table, chain, rule), func() (bool, error) { return m.IPTablesHandler.Exists(table, chain, rule...) })
}

func (m *memory) ChainExists(table, chain string) (bool, error) {
	return m.found(key(table, chain, nil), func() (bool, error) { return m.IPTablesHandler.ChainExists(table, chain) })
}

func (m *memory) AppendUnique(table, chain string, rule ...string) error {
	if there, err := m.Exists(table, chain, rule...); err != nil || there {
		return err
	}
	return m.Append(table, chain, rule...)
}

// List is asked for the order of the rules in the chains that all policies share.
func (m *memory) List(table, chain string) ([]string, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if last, ok := m.lists[key(table, chain, nil)]; ok && time.Since(last.at) < known {
		return last.rules, nil
	}
	rules, err := m.IPTablesHandler.List(table, chain)
	if err == nil {
		m.lists[key(table, chain, nil)] = list{rules, time.Now()}
	}
	return rules, err
}

func (m *memory) Insert(table, chain string, position int, rule ...string) error {
	m.forget()
	return m.IPTablesHandler.Insert(table, chain, position, rule...)
}

func (m *memory) Append(table, chain string, rule ...string) error {
	m.forget()
	return m.IPTablesHandler.Append(table, chain, rule...)
}

func (m *memory) Delete(table, chain string, rule ...string) error {
	m.forget()
	return m.IPTablesHandler.Delete(table, chain, rule...)
}

// found asks unless what is asked for was there a moment ago; what is missing is looked for each time.
func (m *memory) found(key string, ask func() (bool, error)) (bool, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if at, ok := m.there[key]; ok && time.Since(at) < known {
		return true, nil
	}
	there, err := ask()
	if there && err == nil {
		m.there[key] = time.Now()
	}
	return there, err
}

func (m *memory) forget() {
	m.lock.Lock()
	defer m.lock.Unlock()
	clear(m.there)
	clear(m.lists)
}

func key(table, chain string, rule []string) string {
	return strings.Join(append([]string{table, chain}, rule...), "\x00")
}
