module lockstep.dev/lockstep/test/cluster/programs/kueue

go 1.26.0

require sigs.k8s.io/kueue v0.19.0

// Not in the checksum database; the build tag exclude_scheduler_library leaves it out.
exclude sigs.k8s.io/scheduler-library v0.1.0-alpha1
