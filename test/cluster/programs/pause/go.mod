module lockstep.dev/lockstep/test/cluster/programs/pause

go 1.26
