// Package install copies the agent into a folder that other containers mount.
package install
