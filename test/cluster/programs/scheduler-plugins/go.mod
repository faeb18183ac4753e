// Never built: only its CRDs are read.
module lockstep.dev/lockstep/test/cluster/programs/scheduler-plugins

go 1.26.0

require sigs.k8s.io/scheduler-plugins v0.35.4-devel
