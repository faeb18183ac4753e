// The objects that runtime-compiler makes of the same specs, one file per tenant and cluster.
// With `only` nothing but that tenant is evaluated.
local tenants = import 'tenants.libsonnet';
local clusters = import 'clusters.libsonnet';
local objects = import 'tenant.libsonnet';

function(only='')
  local names = if only == '' then std.objectFields(tenants) else [only];
  {
    [cluster + '/tenants/' + name + '/tenant.yaml']:
      std.manifestYamlStream(objects(clusters[cluster], tenants[name]), quote_keys=false, c_document_end=false)
    for cluster in std.objectFields(clusters)
    for name in names
    if std.member(tenants[name].clusters, cluster)
  } + if only != '' then {} else {
    // The platform and the runtimes of the cluster, finished: only tenants are evaluated.
    [cluster + '/static.yaml']: clusters[cluster].static
    for cluster in std.objectFields(clusters)
  }
