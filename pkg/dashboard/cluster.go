package dashboard

import (
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/overview"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// cluster shows the cluster, or one namespace, by its jobs. A user who may not list jobs everywhere gets the own
// namespace, and the name of the right.
func (s *Server) cluster(v *visit) (any, error) {
	done, err := s.openCheck(v)
	if err != nil {
		return nil, err
	}
	defer done()
	namespace := v.URL.Query().Get("namespace")
	in, err := fetch.ReadOverview(v.Context(), v.c, namespace)
	if err != nil && namespace == "" && apierror.Explain(err).Kind == apierror.Forbidden && v.user.Namespace != "" {
		hidden := view.Withheld{What: otherJobs, Why: apierror.Explain(err).Message}
		in, err = fetch.ReadOverview(v.Context(), v.c, v.user.Namespace)
		in.Withheld = append([]view.Withheld{hidden}, in.Withheld...)
	}
	if err != nil {
		return nil, err
	}
	return overview.Of(in), nil
}

// openCheck counts a request that reads much, and returns what ends the count.
func (s *Server) openCheck(v *visit) (func(), error) {
	if !s.checks.open(v.user.Key, Limits{Streams: s.limits.Streams, UserStreams: s.limits.Checks}) {
		return nil, errTooManyChecks
	}
	return func() { s.checks.close(v.user.Key) }, nil
}
