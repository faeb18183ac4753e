// A tenant's objects on a cluster.
local metadata(tenant, name, namespace=null) = {
  labels: { 'app.kubernetes.io/managed-by': 'lockstep', 'lockstep.dev/tenant': tenant.name },
  name: name,
  [if namespace != null then 'namespace']: namespace,
};
local role(name) = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: name };
local groups(names) = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: name } for name in names];
local byName(namespace) = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } };

local namespaced(cluster, tenant, namespace) =
  local object(apiVersion, kind, name) = { apiVersion: apiVersion, kind: kind, metadata: metadata(tenant, name, namespace) };
  local policy(name, spec) = object('networking.k8s.io/v1', 'NetworkPolicy', name) { spec: { podSelector: {} } + spec };
  local binding(name, subjects) = object('rbac.authorization.k8s.io/v1', 'RoleBinding', name) { roleRef: role(name), subjects: subjects };
  local level = std.get(tenant, 'podSecurity', 'restricted');
  local quota = tenant.quota;
  local limits = std.get(std.get(tenant, 'limits', {}), 'container', {});
  local defaults = { cpu: '100m', memory: '128Mi' } + std.get(limits, 'default', {});
  local runtimes = [r for r in cluster.runtimes if !std.objectHas(tenant, 'runtimes') || std.member(tenant.runtimes, r.name)];
  // An entry for each profile with accelerators, in the order of the runtimes.
  local most = std.foldl(
    function(found, entry) if std.member(found, entry) then found else found + [entry],
    [
      r.profile + '=' + std.toString(std.get(std.get(quota, 'accelerators', {}), r.accelerator, 0))
      for r in runtimes
      if r.accelerator != ''
    ],
    []
  );
  local network = std.get(tenant, 'network', {});
  [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        annotations: {
          [if std.objectHas(limits, 'max') then 'lockstep.dev/max-container']:
            std.join(',', [name + '=' + limits.max[name] for name in std.objectFields(limits.max)]),
          [if most != [] then 'lockstep.dev/max-accelerators']: std.join(',', most),
          'lockstep.dev/runtimes': std.join(',', [r.name for r in runtimes]),
          'openshift.io/display-name': tenant.displayName,
        },
        labels: metadata(tenant, '').labels { ['pod-security.kubernetes.io/' + mode]: level for mode in ['audit', 'enforce', 'warn'] },
        name: namespace,
      },
    },
    object('v1', 'ResourceQuota', 'lockstep-quota') {
      spec: {
        hard: {
          'count/trainjobs.trainer.kubeflow.org': std.toString(quota.jobs),
          'limits.memory': quota.memory,
          pods: std.toString(quota.pods),
          'requests.cpu': std.toString(quota.cpu),
          'requests.memory': quota.memory,
        } + {
          ['requests.' + name]: std.toString(std.get(std.get(quota, 'accelerators', {}), name, 0))
          for name in cluster.accelerators
        },
      },
    },
    object('v1', 'LimitRange', 'lockstep-limits') {
      spec: {
        limits: [{
          default: { memory: defaults.memory },
          defaultRequest: { cpu: defaults.cpu, memory: defaults.memory },
          [if std.objectHas(limits, 'max') then 'max']: limits.max,
          type: 'Container',
        }],
      },
    },
    policy('lockstep-default-deny', { policyTypes: ['Ingress', 'Egress'] }),
    policy('lockstep-dns', {
      egress: [{
        ports: [{ port: cluster.dns.port, protocol: protocol } for protocol in ['UDP', 'TCP']],
        to: [byName(cluster.dns.namespace) { podSelector: { matchLabels: cluster.dns.podLabels } }],
      }],
      policyTypes: ['Egress'],
    }),
  ]
  + (if !std.objectHas(network, 'egress') then [] else [
       policy('lockstep-egress', {
         egress: [
           {
             to: [{ ipBlock: { cidr: e.cidr } }],
             [if std.objectHas(e, 'ports') then 'ports']: [{ port: p.port, protocol: std.get(p, 'protocol', 'TCP') } for p in e.ports],
           }
           for e in network.egress
         ],
         policyTypes: ['Egress'],
       }),
     ])
  + (if !std.objectHas(network, 'ingress') then [] else [
       policy('lockstep-ingress', {
         ingress: [{ from: [byName(i.namespace)] } for i in network.ingress],
         policyTypes: ['Ingress'],
       }),
     ])
  + [
    binding('lockstep-tenant-' + entry.role, groups(std.sort(tenant.people[entry.list])))
    for entry in [{ role: 'admin', list: 'admins' }, { role: 'editor', list: 'editors' }, { role: 'viewer', list: 'viewers' }]
    if std.objectHas(tenant.people, entry.list)
  ]
  + (if !cluster.openshift then [] else [
       binding('lockstep-use-scc-mpi', [{ kind: 'ServiceAccount', name: 'mpi', namespace: namespace }]),
       object('v1', 'ServiceAccount', 'mpi') { automountServiceAccountToken: false },
     ])
  + [
    binding('mpi-controller-jobs', [{ kind: 'ServiceAccount', name: 'mpi-controller', namespace: 'lockstep-system' }]),
    object('v1', 'ServiceAccount', 'default') { automountServiceAccountToken: false },
  ];

function(cluster, tenant)
  local people = tenant.people;
  [
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: metadata(tenant, 'lockstep-runtime-reader-' + tenant.name),
      roleRef: role('lockstep-runtime-reader'),
      subjects: groups(std.set(std.get(people, 'admins', []) + people.editors + std.get(people, 'viewers', []))),
    },
  ] + std.flatMap(function(namespace) namespaced(cluster, tenant, namespace), tenant.namespaces)
