package sides

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Pods are numbers of worker pods, as a flag.
type Pods []int32

// String is how the flag is written.
func (p *Pods) String() string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(*p)), ","), "[]")
}

// Set reads the flag.
func (p *Pods) Set(text string) error {
	*p = nil
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil || n < 1 {
			return errors.New("want whole numbers from 1, separated by commas")
		}
		*p = append(*p, int32(n))
	}
	return nil
}
