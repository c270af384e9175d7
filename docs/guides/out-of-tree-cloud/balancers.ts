import type {
  AnswerFields,
  CloudKit,
  DesiredLoadBalancer,
  DesireInput,
  Found,
  Kind,
  KitApi,
  LoadBalancerDriver,
  Refusal,
  Want,
} from 'mooring/cloud';

const kindName = 'load balancer';
const path = '/balancers';

/** What a Service asks of its load balancer: everything that one call writes. */
interface Spec {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly protocol: string; readonly port: number; readonly nodePort: number }[];
  readonly servers: readonly string[];
}
interface Body extends Spec {
  readonly address: string;
}

/** One kind of resource, written as a whole. Labels prove whose it is. */
export function createBalancerDriver(kit: CloudKit, api: KitApi): LoadBalancerDriver {
  const readOne = async (id: string, signal: AbortSignal | undefined): Promise<Found<Body>[]> => {
    try {
      return [
        found((await api.call({ path: `${path}/${id}`, operation: 'GET /balancers/{id}', signal })).object('balancer')),
      ];
    } catch (error) {
      if (kit.kindOf(error) === 'NotFound') return [];
      throw error;
    }
  };
  const readAll = async (urgency: 'need' | 'refresh', signal: AbortSignal | undefined): Promise<Found<Body>[]> =>
    (await api.call({ path, urgency, signal })).objects('balancers').map(found);

  return {
    main: kindName,
    kinds: [balancerKind(api)] as readonly Kind[],
    readers: [
      {
        kinds: [kindName],
        all: (_cluster, { signal }) => readAll('refresh', signal),
        async of({ ids, search }, { signal }) {
          // Users can write the record of a Service, so an id of it may be anything.
          const known = ids.filter(({ id }) => /^b-\d+$/.test(id));
          const read = (await Promise.all(known.map(({ id }) => readOne(id, signal)))).flat();
          const listed = search ? await readAll('need', signal) : [];
          return { found: [...read, ...listed.filter(({ id }) => !read.some((one) => one.id === id))] };
        },
      },
    ],
    desire: (input) => desire(kit, input),
    poll: async () => new Map(),
    show: ({ body }) => ({ name: (body as Body).name, ingress: [{ ip: (body as Body).address }] }),
    members: (parts) =>
      (parts as readonly Found<Body>[]).flatMap(({ body }) =>
        body.servers.map((id) => ({ providerID: kit.providerIDOf(id), draining: false, healthy: undefined })),
      ),
    annotations: [],
    maxMembers: undefined,
    drains: false,
    slots: () => [],
  };
}

function balancerKind(api: KitApi): Kind<Spec, Body> {
  return {
    kind: kindName,
    // A create that may have happened is searched for before it is sent again.
    retryCreate: 'afterSearch',
    compare({ body }, spec) {
      const differs = (['ports', 'servers'] as const).filter((name) => print(body[name]) !== print(spec[name]));
      const summary = `load balancer ${spec.name}: ${differs.join(', ')}`;
      return differs.length === 0
        ? { same: true }
        : { changes: [{ what: 'put', summary, phase: 'set', body: { ...spec, labels: body.labels } }] };
    },
    async create({ spec }, _inside, { permit, signal }) {
      const answer = await api.call({ path, method: 'POST', body: spec, permit, signal });
      const made = found(answer.object('balancer'));
      return { id: made.id, found: [made] };
    },
    async update({ id }, { body }, { permit, signal }) {
      const request = { path: `${path}/${id}`, operation: 'PUT /balancers/{id}', method: 'PUT', body } as const;
      return { id, found: [found((await api.call({ ...request, permit, signal })).object('balancer'))] };
    },
    async remove({ id }, { permit, signal }) {
      const request = { path: `${path}/${id}`, operation: 'DELETE /balancers/{id}', method: 'DELETE' } as const;
      await api.send({ ...request, permit, signal });
      return {};
    },
  };
}

/** Pure: what serves the Service, and what of it this cloud cannot do. */
function desire(
  kit: CloudKit,
  { desired, own }: DesireInput,
): { wants: readonly Want<Spec>[]; refusals: readonly Refusal[] } {
  const { owner, name, service, ports, members } = desired;
  const possible = ports.filter(({ protocol, nodePort }) => protocol === 'TCP' && nodePort !== 0);
  // This cloud lets every client in: what a Service wants kept from others is not opened.
  const standing = own().flatMap(({ body }) => (body as Body).ports.map(({ port }) => port));
  const mayOpen = desired.sourceRanges.length === 0;
  const served = possible.filter(({ port }) => mayOpen || standing.includes(port));
  const spec: Spec = {
    name,
    labels: { cluster: owner.cluster, service: owner.service, for: service },
    ports: served.map(({ protocol, port, nodePort }) => ({ protocol, port, nodePort })),
    servers: members.flatMap(({ providerID }) => kit.instanceIdOf(providerID) ?? []),
  };
  const refusals = [
    ...ports
      .filter((port) => !possible.includes(port))
      .map(({ protocol, port }) =>
        refusal(`spec.ports: ${protocol} ${port}, expected TCP with a node port`, { protocol, port }),
      ),
    ...unsupported(desired),
  ];
  const main = { kind: kindName, key: 'main', carriesAddress: true, summary: `load balancer ${name}`, spec };
  if (own().length === 0 && !mayOpen) return { wants: [], refusals };
  return { wants: [served.length === 0 ? { ...main, leaveUnchanged: true } : main], refusals };
}

function unsupported({ sourceRanges, sessionAffinity, address, attach, retain }: DesiredLoadBalancer): Refusal[] {
  const given = { sourceRanges: sourceRanges.length > 0, sessionAffinity, loadBalancerIP: address, attach, retain };
  const fields = Object.entries(given).filter(([, value]) => value !== undefined && value !== false);
  return fields.map(([field]) => refusal(`${field}: set, expected none on this cloud`));
}

function refusal(message: string, port?: NonNullable<Refusal['ports']>[number]): Refusal {
  return { reason: 'Unsupported', message, ...(port && { ports: [port] }) };
}

function found(fields: AnswerFields): Found<Body> {
  const id = fields.text('id');
  const labels = fields.labels('labels');
  const ports = fields.objects('ports').map((one) => {
    return { protocol: one.text('protocol'), port: one.number('port'), nodePort: one.number('nodePort') };
  });
  const address = fields.text('address');
  const body = { name: fields.text('name'), labels, ports, servers: fields.texts('servers'), address };
  const { cluster, service } = labels;
  const marks = cluster && service ? { owner: { cluster, service }, key: 'main' } : {};
  return { kind: kindName, id, status: 'ready', address, body, ...marks };
}

/** In any order. */
function print(list: readonly unknown[]): string {
  return list
    .map((one) => JSON.stringify(one))
    .sort()
    .join();
}
