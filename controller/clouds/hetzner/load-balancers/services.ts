import type { Kind, ResourceName } from '../../../engine/resource.ts';
import type { HetznerClient } from '../client.ts';
import { type Json, kindNames, type Service } from './balancer.ts';
import { act } from './calls.ts';

export interface ServiceSpec {
  readonly port: number;
  /** In the fields of the API, only those that were chosen. */
  readonly body: Json;
  /** Undefined: those that are there stay. */
  readonly certificates: readonly ResourceName[] | undefined;
}

/** What the API asks for at creation, as its console fills it in. */
const checkDefaults = { interval: 15, timeout: 10, retries: 3 };
const httpCheckDefaults = { domain: null, path: '/' };

/** One port of a load balancer. */
export function serviceKind(client: HetznerClient): Kind<ServiceSpec, Service> {
  return {
    kind: kindNames.service,
    within: kindNames.balancer,
    inline: true,
    retryCreate: 'atOnce',
    compare({ body }, spec, pointsAt) {
      const certificates = pointsAt('certificates');
      const hasCertificates =
        spec.certificates === undefined ||
        (body.certificates.length === spec.certificates.length &&
          spec.certificates.every((name) => certificates.includes(name)));
      if (hasCertificates && includes(body.body, spec.body)) return { same: true };
      return { changes: [{ what: 'service', summary: `update port ${spec.port}`, phase: 'set', body: spec }] };
    },
    create: ({ spec }, _inside, io) => act(client, io.within!, 'add_service', newService(spec, io.idOf), io),
    update({ body, within }, change, io) {
      const { port, ...spec } = change.body as ServiceSpec;
      const wire = serviceOf(port, { ...spec, body: merged(body.body, spec.body) }, io.idOf);
      return act(client, within!, 'update_service', wire, io);
    },
    remove: ({ body, within }, io) => act(client, within!, 'delete_service', { listen_port: body.port }, io),
  };
}

type IdOf = (name: ResourceName) => string;

/** As it is sent to make it. */
export function newService({ port, ...spec }: ServiceSpec, idOf: IdOf): Json {
  const defaults = { proxyprotocol: false, health_check: { ...checkDefaults, http: httpCheckDefaults } };
  return serviceOf(port, { ...spec, body: merged(defaults, spec.body) }, idOf);
}

function serviceOf(port: number, { body, certificates }: Omit<ServiceSpec, 'port'>, idOf: IdOf): Json {
  const { http, health_check: check, ...rest } = body as { readonly http?: Json; readonly health_check: Json };
  const { http: checkHttp, ...checkRest } = check;
  const ids = certificates === undefined ? {} : { certificates: certificates.map((name) => Number(idOf(name))) };
  return {
    ...rest,
    listen_port: port,
    // TCP takes neither.
    ...(body['protocol'] !== 'tcp' && { http: { ...http, ...ids } }),
    health_check: { ...checkRest, ...(check['protocol'] !== 'tcp' && { http: checkHttp }) },
  };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether everything that is chosen is there; lists in any order. */
function includes(there: unknown, chosen: unknown): boolean {
  if (isObject(chosen)) return isObject(there) && Object.keys(chosen).every((key) => includes(there[key], chosen[key]));
  if (!Array.isArray(chosen)) return there === chosen;
  return Array.isArray(there) && there.length === chosen.length && chosen.every((one) => there.includes(one));
}

function merged(under: Json, over: Json): Json {
  const both = { ...under };
  for (const [key, value] of Object.entries(over))
    both[key] = isObject(value) && isObject(both[key]) ? merged(both[key], value) : value;
  return both;
}
