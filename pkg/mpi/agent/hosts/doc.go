// Package hosts finds the hosts of a job in its table, and names them in a sentence. It reads nothing and asks nobody.
package hosts
