import { randomUUID } from 'node:crypto';
import { type CloudErrorKind, isCloudError } from '../../../common/cloud-error.ts';
import { adviceWhenDown, isDown } from '../checks.ts';
import type { Capability, CheckResult } from '../cloud.ts';
import type { ChangeRequest, OpenStackClient, Query } from './client.ts';
import type { OpenStackConfig } from './config.ts';
import { createAbilities } from './routes/extensions.ts';
import { readRouter } from './routes/router.ts';
import type { ServiceType } from './session.ts';

type CheckedConfig = Pick<OpenStackConfig, 'region' | 'routerId' | 'loadBalancer'>;

interface Read {
  readonly service: ServiceType;
  readonly path: string;
  readonly without: string;
}

/**
 * A call that cannot change anything: an object that it needs does not exist, or it is bound to a revision that no
 * object has.
 */
interface Write {
  readonly name: string;
  readonly without: string;
  request(): Promise<Omit<ChangeRequest, 'operation' | 'permit'> | string>;
}

const reads: readonly Read[] = [
  {
    service: 'compute',
    path: '/servers/detail',
    without: 'policy os_compute_api:servers:detail: without it nodes cannot be looked up',
  },
  {
    service: 'compute',
    path: '/flavors',
    without: 'policy os_compute_api flavor list: without it instance types may stay unknown',
  },
  { service: 'network', path: '/ports', without: 'policy get_port: without it addresses stay unknown' },
];
const balancerReads: readonly Read[] = [
  {
    service: 'load-balancer',
    path: '/lbaas/loadbalancers',
    without: 'role load-balancer_member or member: without it there are no load balancers',
  },
  { service: 'network', path: '/floatingips', without: 'policy get_floatingip: without it floating IPs are not found' },
  { service: 'network', path: '/subnets', without: 'policy get_subnet: without it no subnet for the VIP is found' },
];
const groupReads: readonly Read[] = [
  {
    service: 'network',
    path: '/security-groups',
    without: 'policy get_security_group: without it manage-security-groups cannot work',
  },
];

/** No object has come so far, and Neutron refuses a write that is meant for another revision than the one there is. */
const impossible = { 'if-match': 'revision_number=2147483647' };
/** What Neutron and Octavia answer to a write that may be made and cannot be. */
const reached: ReadonlySet<CloudErrorKind> = new Set(['NotFound', 'Invalid', 'Conflict', 'Stale', 'QuotaExceeded']);

/** Octavia looks at the load balancer before it looks at the role, and Neutron at the whole body. */
const notProved: CheckResult = {
  name: 'other changes',
  neededFor: ['load balancers'],
  ok: null,
  message: 'not proved: of listeners, pools, members, health monitors and security groups, no harmless call is known',
};

/** A permission that no call proves here. */
interface NotProved {
  readonly why: string;
}

/**
 * Token, catalog in the region, each read that is needed, with a page of one, and each kind of write, by a call that
 * cannot change anything. A creation is sent without a required field: Neutron and Octavia check the permission first.
 * For an update they look for the object first, so a random id would prove nothing: an existing object is written as it
 * is, bound to a revision that it never had.
 */
export async function checkOpenStack(
  client: OpenStackClient,
  { region, routerId, loadBalancer }: CheckedConfig,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  const prove = async (
    name: string,
    proof: () => Promise<string | NotProved>,
    advice: string,
    capability?: Capability | undefined,
  ): Promise<boolean> => {
    const about = capability === undefined ? { name } : { name, neededFor: [capability] };
    try {
      const proved = await proof();
      if (typeof proved === 'string') results.push({ ...about, ok: true, message: proved });
      else results.push({ ...about, ok: null, message: proved.why });
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const hint = isDown(error) ? adviceWhenDown : advice;
      results.push({ ...about, ok: false, message: hint === '' ? reason : `${reason}; ${hint}` });
      return false;
    }
  };
  const token = async () => {
    const { projectName, projectId } = await client.session();
    if (projectId === undefined) throw new Error('the token has no project');
    return `token for project ${projectName ?? projectId}`;
  };
  if (!(await prove('credentials', token, 'see [Global] of the cloud config or clouds.yaml'))) return results;
  const reachable = new Set<ServiceType>();
  const { enabled, manageSecurityGroups } = loadBalancer;
  for (const service of ['compute', 'network', ...(enabled ? (['load-balancer'] as const) : [])] as const) {
    const endpoint = async () =>
      `${await client.endpoint(service)}${region === undefined ? '' : ` in region ${region}`}`;
    const advice = service === 'load-balancer' ? 'a cloud without Octavia wants enabled = false in [LoadBalancer]' : '';
    const capability = service === 'load-balancer' ? 'load balancers' : undefined;
    if (await prove(`${service} endpoint`, endpoint, advice, capability)) reachable.add(service);
  }
  const routerReads: Read[] =
    routerId === undefined
      ? []
      : [
          {
            service: 'network',
            path: `/routers/${encodeURIComponent(routerId)}`,
            without: 'see router-id in [Route], and policy get_router',
          },
        ];
  const desired = [
    ...of(undefined, reads),
    ...of('routes', routerReads),
    ...of('load balancers', enabled ? balancerReads : []),
    ...of('load balancers', manageSecurityGroups ? groupReads : []),
  ];
  for (const { service, path, without, capability } of desired) {
    if (!reachable.has(service)) continue;
    const query: Query = path.startsWith('/routers/') ? [] : [['limit', '1']];
    const read = async () => {
      await client.get({ service, path, operation: `GET ${path}`, query, signal });
      return 'allowed';
    };
    await prove(`GET ${path}`, read, without, capability);
  }
  for (const { name, without, request, capability } of [
    ...of('routes', routerId === undefined ? [] : routeWrites(client, routerId, signal)),
    ...of('load balancers', enabled ? balancerWrites : []),
  ]) {
    const write = async () => {
      const asked = await request();
      if (typeof asked === 'string') return { why: asked };
      if (!reachable.has(asked.service)) throw new Error(`${asked.service} cannot be reached`);
      return mayWrite(client, { ...asked, operation: name, permit: () => {}, signal });
    };
    await prove(name, write, without, capability);
  }
  if (enabled) results.push(notProved);
  return results;
}

function of<Proof>(capability: Capability | undefined, proofs: readonly Proof[]) {
  return proofs.map((proof) => ({ ...proof, capability }));
}

async function mayWrite(client: OpenStackClient, request: ChangeRequest): Promise<string> {
  try {
    await client.change(request);
  } catch (error) {
    if (!isCloudError(error) || !reached.has(error.kind)) throw error;
  }
  return 'allowed; nothing was changed';
}

function routeWrites(client: OpenStackClient, routerId: string, signal: AbortSignal | undefined): readonly Write[] {
  const abilitiesOf = createAbilities(client);
  const options = { urgency: 'need', signal } as const;
  const path = `/routers/${encodeURIComponent(routerId)}`;
  return [
    {
      name: 'change routes of the router',
      without: 'policy update_router, add_extraroutes and remove_extraroutes: without them pods are not routed',
      async request() {
        const { atomic, ifMatch } = await abilitiesOf(options);
        const put = { service: 'network', method: 'PUT' } as const;
        // No routes are added to those that are there.
        if (atomic) return { ...put, path: `${path}/add_extraroutes`, body: { router: { routes: [] } } };
        if (!ifMatch) return 'not proved: this Neutron has no call for it that could not change anything';
        const { routes } = await readRouter(client, routerId, options);
        return { ...put, path, body: { router: { routes } }, headers: impossible };
      },
    },
    {
      name: 'change address pairs of ports',
      without: 'policy update_port:allowed_address_pairs: without it ports drop what pods send',
      async request() {
        const { addressPairs, ifMatch } = await abilitiesOf(options);
        if (!addressPairs) return 'this Neutron has no allowed address pairs';
        const fields: Query = ['id', 'device_owner', 'allowed_address_pairs'].map((name) => ['fields', name]);
        const query: Query = [...fields, ['limit', '50']];
        const answer = await client.get({ service: 'network', path: '/ports', query, signal });
        const port = answer.objects('ports').find((one) => one.optionalText('device_owner')?.startsWith('compute:'));
        if (port === undefined || !ifMatch) return 'not proved: there is no port of a server yet, or no revisions';
        const body = { port: { allowed_address_pairs: port.json()['allowed_address_pairs'] ?? [] } };
        return { service: 'network', method: 'PUT', path: `/ports/${port.text('id')}`, body, headers: impossible };
      },
    },
  ];
}

const balancerWrites: readonly Write[] = [
  {
    name: 'make load balancers',
    without: 'role load-balancer_member or member: without it none is made',
    // Octavia makes none without a place for its VIP.
    request: async () => ({
      service: 'load-balancer',
      method: 'POST',
      path: '/lbaas/loadbalancers',
      body: { loadbalancer: { name: 'mooring-check' } },
    }),
  },
  {
    name: 'make floating IPs',
    without: 'policy create_floatingip: without it load balancers are reached from inside alone',
    request: async () => ({
      service: 'network',
      method: 'POST',
      path: '/floatingips',
      body: { floatingip: { floating_network_id: randomUUID() } },
    }),
  },
];
