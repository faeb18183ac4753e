package check

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// storesReachable warns of object stores that the tenant's egress does not lead to. Where the endpoint is a name its address is not
// known: then only that some range opens its port.
func storesReachable(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if t.ObjectStore == nil || t.ObjectStore.Endpoint.V == "" {
			continue
		}
		endpoint, err := url.Parse(t.ObjectStore.Endpoint.V)
		if err != nil {
			continue // decoding has reported it
		}
		port := 443
		if endpoint.Scheme == "http" {
			port = 80
		}
		if number, err := strconv.Atoi(endpoint.Port()); err == nil {
			port = number
		}
		opens := func(e plan.Egress) bool { return egressLeadsTo(e, endpoint.Hostname(), port) }
		if !slices.ContainsFunc(t.Egress, opens) {
			list.Warnf(diag.StoreNotReachable, t.ObjectStore.Endpoint.At, "no egress of the tenant `%s` leads to its object store, `%s` on port %d", t.Name.V, endpoint.Hostname(), port).
				Helpf("add the range of the store, or its pods, to `network.egress`")
		}
	}
}

// egressLeadsTo reports whether an egress may lead to a port of a host. The name of a Service holds its namespace. Its pods
// may listen on another port.
func egressLeadsTo(e plan.Egress, host string, port int) bool {
	if e.CIDR.V == "" {
		_, home, _ := strings.Cut(host, ".")
		return e.Namespace.V != "" && strings.HasPrefix(home+".", e.Namespace.V+".")
	}
	opens := func(p plan.Port) bool { return int(p.Port.V) == port && p.Protocol.V == "TCP" }
	if len(e.Ports) > 0 && !slices.ContainsFunc(e.Ports, opens) {
		return false
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return true
	}
	prefix, err := netip.ParsePrefix(e.CIDR.V)
	return err == nil && prefix.Contains(address)
}

// storesAreUsed warns of object stores whose Secret no job gets: catalog runtimes are shared, so that only variants have it.
func storesAreUsed(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if t.ObjectStore != nil && len(t.Bases) == 0 {
			list.Warnf(diag.SettingInVain, t.ObjectStore.Secret.At, "no job of `%s` gets the object store: the tenant has no variant of a runtime", t.Name.V).
				Notef("runtimes of the catalog are shared and know no tenant's Secret").
				Helpf("add a variant to `variants`, or let TrainJobs name the Secret themselves and remove `objectStore`")
		}
	}
}

// ownPod is an address of the pod itself, otherHosts are variables with addresses of servers elsewhere.
var (
	ownPod     = regexp.MustCompile(`(?i)^[a-z0-9+.-]+://([^/@]*@)?(localhost|127\.[0-9.]+|\[::1\])([:/]|$)`)
	otherHosts = append(strings.Fields(`HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy HF_ENDPOINT
		MLFLOW_TRACKING_URI WANDB_BASE_URL PIP_INDEX_URL UV_INDEX_URL UV_DEFAULT_INDEX`), endpointVariables...)
)

// endpointVariables are read by the SDK of AWS and by MLflow.
var endpointVariables = []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "MLFLOW_S3_ENDPOINT_URL"}

var (
	// server is an endpoint that a bucket can be added to.
	server = regexp.MustCompile(`(?i)^https?://[^/]+/?$`)
	// bucketOfAWS is a host of AWS for one bucket. The endpoints of AWS have no name before `s3`.
	bucketOfAWS = regexp.MustCompile(`(?i)\.s3(\.[a-z0-9-]+)?\.amazonaws\.com/?$`)
)

// endpointsAreServers warns of an object store with a bucket in its address, which requests would have twice. A few
// stores have a path (Supabase): a variable has a `reason` then, and `endpoint` a waiver.
func endpointsAreServers(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if t.ObjectStore != nil {
			endpointIsServer(&t.ObjectStore.Endpoint, list)
			addressIsElsewhere(&t.ObjectStore.Endpoint, list)
		}
	}
	for r := range c.Compiled() {
		for _, v := range slices.Concat(r.Profile.Env, r.Env) {
			if v.Why == "" && slices.Contains(endpointVariables, v.Name.V) {
				endpointIsServer(&v.Value, list)
			}
			if v.Why == "" && slices.Contains(otherHosts, v.Name.V) {
				addressIsElsewhere(&v.Value, list)
			}
		}
	}
}

func addressIsElsewhere(address *plan.Value[string], list *diag.List) {
	if ownPod.MatchString(address.V) {
		list.Warnf(diag.ValueNotKnown, address.At, "`%s` is the pod itself, and no server runs there", address.V).
			Helpf("write the name of the host, or of a Service such as `http://minio.storage.svc:9000`")
	}
}

func endpointIsServer(address *plan.Value[string], list *diag.List) {
	at := address.V
	if at != "" && !strings.Contains(at, "$") && (!server.MatchString(at) || bucketOfAWS.MatchString(at)) {
		list.Warnf(diag.ValueNotKnown, address.At, "`%s` is not the address of a server: programs add the bucket", at).
			Helpf("write scheme, host and port, such as `https://s3.example.com`; jobs name the bucket")
	}
}
