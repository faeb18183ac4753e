// Package compiling is what the commands of runtime-compiler have in common that compile specs: their flags, what they need of the build, and
// the processes in which Jsonnet is evaluated.
package compiling
