package dns

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Config is what resolv.conf(5) says, as far as pods use it.
type Config struct {
	// Servers are the DNS servers as `address:port`, in the order in which they are asked.
	Servers []string
	// Search are the domains that are appended to names, in order.
	Search []string
	// Dots is the number of dots from which a name is tried as it is before domains are appended.
	Dots int
}

// DefaultPath is where the file is in every container.
const DefaultPath = "/etc/resolv.conf"

// Limits of glibc; kubelet obeys them too.
const (
	maxServers = 3
	maxDots    = 15
)

// LoadConfig reads a configuration file.
func LoadConfig(path string) (Config, error) {
	file, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration of DNS: %w", err)
	}
	defer file.Close()
	config, err := ParseConfig(file)
	if err == nil && len(config.Servers) == 0 {
		err = fmt.Errorf("%s names no server", path)
	}
	return config, err
}

// ParseConfig reads the words that it knows and skips all others, as resolvers do.
func ParseConfig(r io.Reader) (Config, error) {
	config := Config{Dots: 1}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			if address, err := netip.ParseAddr(fields[1]); err == nil && len(config.Servers) < maxServers {
				config.Servers = append(config.Servers, net.JoinHostPort(address.String(), "53"))
			}
		case "domain", "search": // the last one counts
			config.Search = nil
			for _, domain := range fields[1:] {
				config.Search = append(config.Search, strings.TrimSuffix(domain, "."))
			}
		case "options":
			config.setOptions(fields[1:])
		}
	}
	if err := lines.Err(); err != nil {
		return Config{}, fmt.Errorf("read the configuration of DNS: %w", err)
	}
	return config, nil
}

func (c *Config) setOptions(options []string) {
	for _, option := range options {
		if text, found := strings.CutPrefix(option, "ndots:"); found {
			if n, err := strconv.Atoi(text); err == nil && n >= 0 {
				c.Dots = min(n, maxDots)
			}
		}
	}
}

// candidateNames returns the absolute names that a name may stand for, in the order in which a resolver tries them.
func (c Config) candidateNames(name string) []string {
	if strings.HasSuffix(name, ".") {
		return []string{name}
	}
	var searched []string
	for _, domain := range c.Search {
		if domain != "" {
			searched = append(searched, name+"."+domain+".")
		}
	}
	if strings.Count(name, ".") >= c.Dots {
		return append([]string{name + "."}, searched...)
	}
	return append(searched, name+".")
}
