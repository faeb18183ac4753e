package check

import (
	"regexp"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

var (
	// mpiInImage is an MPI in the name or the tag of an image, with the number behind it.
	mpiInImage = regexp.MustCompile(`(open-?mpi|ompi|mpich|intel-?mpi|oneapi)(?:[-_:]?v?(\d+)(?:[^\d]|$))?`)
	// withoutMPI are images that publishers keep free of MPI. A registry of one's own may have another under the name.
	withoutMPI = regexp.MustCompile(`^(docker\.io/)?(library/)?(alpine|busybox|debian|ubuntu|fedora|python)(:|@|$)|` +
		`^(docker\.io/|nvcr\.io/)?nvidia/cuda:`)
)

// imagesHaveMPI warns of an image whose name or tag has another MPI than the runtime, or none. A number counts if it is
// a major version that the implementation has.
func imagesHaveMPI(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		image, _, _ := strings.Cut(r.Image.Spec.V, "@")
		named := mpiInImage.FindStringSubmatch(strings.ToLower(image[strings.LastIndexByte(image, '/')+1:]))
		what := ""
		switch {
		case withoutMPI.MatchString(r.Image.Spec.V):
			what = "no MPI"
		case named == nil:
		case implementationInImage(named[1]) != r.Implementation.V:
			what = string(implementationInImage(named[1])) + " by its name"
		case r.Implementation.V != mpi.IntelMPI && (named[2] == "4" || named[2] == "5") &&
			!strings.HasPrefix(r.Version.V+".", named[2]+"."):
			what = string(r.Implementation.V) + " " + named[2] + " by its name"
		}
		if what != "" {
			list.Warnf(diag.Contradiction, r.Image.Spec.At, "the image `%s` has %s, and `mpi` is %s %s", r.Image.Spec.V,
				what, r.Implementation.V, r.Version.V).Also(r.Version.At, "the MPI of the runtime").
				Helpf("correct `image`, or write the `implementation` and the `version` that `mpirun --version` prints in it")
		}
	}
}

func implementationInImage(word string) mpi.Implementation {
	switch word {
	case "mpich":
		return mpi.MPICH
	case "openmpi", "open-mpi", "ompi":
		return mpi.OpenMPI
	}
	return mpi.IntelMPI
}
