package cli

import (
	"fmt"
	"strings"
)

// named is how many items of a list a message names.
const named = 5

// JoinFirst names the first items of a list, and says how many more there are.
func JoinFirst(list []string) string {
	if len(list) <= named {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:named], ", "), len(list)-named)
}
