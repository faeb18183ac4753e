// Package rootfs makes small root file systems out of Debian packages.
//
// Duty: find the archive that this machine's own packages come from (ReadSources, Archive), have mmdebstrap install
// packages of any suite of that archive into a directory (Bootstrap), compile C programs in there (Compile) and what others published as source
// (FetchUpstream, Build), and select the few files that an image needs (OpenRoot, Select).
//
// Flow: one directory serves as build root and as source of the image. It holds compilers, dpkg, perl and whatever
// else Debian's dependencies bring along; the image gets only the packages asked for and those that own the
// libraries that they are linked to. So nothing has to be removed afterwards, and nothing comes in unnoticed.
//
// Invariants: no mirror is named here; suites other than the machine's are fetched from the same place and checked
// against Debian's keyring. Everything that mmdebstrap starts or mounts lives in namespaces that end with this
// program, however it ends. A root file system with a remote shell in it is refused (NoRemoteShell).
package rootfs
