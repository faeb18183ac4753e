package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/test/bench/meter"
)

// objects are decoded manifests by identity.
type objects map[string]any

// decode reads YAML documents. Two objects of one identity are an error.
func decode(data []byte) (objects, error) {
	found := objects{}
	for document := range bytes.SplitSeq(append([]byte("\n"), data...), []byte("\n---")) {
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			return nil, fmt.Errorf("decode manifests: %w\n%s", err, document)
		}
		if len(object) == 0 {
			continue
		}
		id := identity(object)
		if _, taken := found[id]; taken {
			return nil, fmt.Errorf("decode manifests: %s is there twice", id)
		}
		found[id] = object
	}
	return found, nil
}

func identity(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	return fmt.Sprintf("%v %v %v/%v", object["apiVersion"], object["kind"], metadata["namespace"], metadata["name"])
}

// digest is the same for equal objects: that of their JSON, keys sorted, by identity.
func (o objects) digest() (string, error) {
	data, err := json.Marshal(o) // sorts the keys of maps
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}

// differ returns what is wrong with objects that should equal wanted ones, or "".
func differ(wanted, got objects) string {
	var lines []string
	for id := range wanted {
		if got[id] == nil {
			lines = append(lines, "missing: "+id)
		} else if diff := cmp.Diff(wanted[id], got[id]); diff != "" {
			lines = append(lines, "different (-runtime-compiler): "+id+"\n"+diff)
		}
	}
	for id := range got {
		if wanted[id] == nil {
			lines = append(lines, "not wanted: "+id)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// equivalent compares the objects of sampled tenants, on every cluster, between runtime-compiler and the other tools. It returns the
// number of objects that were compared with each tool.
func (b *bench) equivalent(ctx context.Context, compiled string) (int, error) {
	compared := 0
	for _, tenant := range b.work.sampled {
		for _, cluster := range b.work.Clusters {
			wanted, err := readTenant(filepath.Join(compiled, cluster, "tenants", tenant))
			if err != nil {
				return 0, err
			}
			if len(wanted) == 0 {
				return 0, fmt.Errorf("runtime-compiler made no object for %s on %s", tenant, cluster)
			}
			compared += len(wanted)
			for _, p := range peers {
				if err := b.equal(ctx, b.peerTenantCommand(p.Name, b.work, cluster, tenant), wanted); err != nil {
					return 0, fmt.Errorf("%s does not make the objects of runtime-compiler for %s on %s: %w", p.Name, tenant, cluster, err)
				}
			}
		}
	}
	return compared, nil
}

func readTenant(folder string) (objects, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all.WriteString("\n---\n")
		all.Write(data)
	}
	return decode(all.Bytes())
}

func (b *bench) equal(ctx context.Context, c meter.Command, wanted objects) error {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...) //nolint:gosec // the commands are ours
	cmd.Dir, cmd.Stderr = c.Dir, os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return err
	}
	got, err := decode(output)
	if err != nil {
		return err
	}
	ourDigest, err := wanted.digest()
	if err != nil {
		return err
	}
	theirDigest, err := got.digest()
	if err != nil {
		return err
	}
	if ourDigest != theirDigest {
		return fmt.Errorf("digest %s, not %s\n%s", theirDigest, ourDigest, differ(wanted, got))
	}
	return nil
}
