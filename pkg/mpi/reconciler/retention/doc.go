// Package retention deletes jobs that finished longer ago than their namespace keeps them.
package retention
