import { CloudError } from '../../../common/cloud-error.ts';
import {
  type Found,
  identityOf,
  isOwnedBy,
  type Kind,
  type OperationState,
  type Reader,
  type ReadIo,
} from '../../engine/resource.ts';
import { classicName, shownAddresses } from '../adoption.ts';
import { flagOf } from '../annotation-reader.ts';
import type { AdoptionInput, LoadBalancerDriver, ShownLoadBalancer } from '../load-balancer-driver.ts';
import { ingressOf } from '../shown-load-balancer.ts';
import { annotations, disownAnnotation, idAnnotation, prefix } from './annotations.ts';
import { type Balancer, foundBalancer, foundCertificate, kindNames } from './balancer.ts';
import { balancerKind, balancersPath } from './balancers.ts';
import { cloud, type DigitalOceanClient } from './client.ts';
import { type DigitalOceanConfig, uuid } from './config.ts';
import { desireOf } from './desire.ts';

export const certificatesPath = '/v2/certificates';
const states = { pending: 'running', ready: 'done' } as const;

/** The load balancers of one account in one region. */
export function createLoadBalancerDriver(client: DigitalOceanClient, config: DigitalOceanConfig): LoadBalancerDriver {
  const usedKind: Kind = { kind: kindNames.certificate, retryCreate: 'atOnce', compare: () => ({ same: true }) };

  /** States of load balancers that are being made: an operation has the id of its load balancer. */
  async function poll(ids: readonly string[], { signal }: ReadIo): Promise<ReadonlyMap<string, OperationState>> {
    const io = { urgency: 'change', signal } as const;
    const read =
      ids.length === 1
        ? [await client.get({ path: `${balancersPath}/${ids[0]}`, ...io }, 'load_balancer')]
        : await client.list({ path: balancersPath, ...io }, 'load_balancers');
    const found = read.flatMap((fields) => (fields === undefined ? [] : foundBalancer(fields)));
    return new Map(found.map(({ id, status }) => [id, status === 'failed' ? errored(id) : states[status]]));
  }

  return {
    main: kindNames.balancer,
    kinds: [balancerKind(client, config), usedKind] as readonly Kind[],
    readers: [createReader(client)],
    desire: (input) => desireOf(input, config.defaultType),
    poll,
    annotations,
    annotationPrefixes: [prefix],
    adopts,
    show,
    members: (parts) =>
      (parts.find(({ kind }) => kind === kindNames.balancer)?.body as Balancer | undefined)?.members ?? [],
    maxMembers: undefined,
    drains: false,
    slots: () => [],
  };
}

function errored(id: string): CloudError {
  const operation = `GET ${balancersPath}/{id}`;
  return new CloudError({ kind: 'Unavailable', cloud, operation, message: `load balancer ${id} is errored` });
}

/** One list shows all load balancers, another the certificates. */
function createReader(client: DigitalOceanClient): Reader {
  const balancers = async (urgency: 'need' | 'refresh', signal: AbortSignal | undefined) =>
    (await client.list({ path: balancersPath, urgency, signal }, 'load_balancers')).map(foundBalancer);
  const certificates = async (urgency: 'need' | 'refresh', signal: AbortSignal | undefined) =>
    (await client.list({ path: certificatesPath, urgency, signal }, 'certificates')).map(foundCertificate);
  return {
    kinds: Object.values(kindNames),
    async all(_cluster, { signal }) {
      const found: Found[] = await balancers('refresh', signal);
      return [...found, ...(await certificates('refresh', signal))];
    },
    async of({ owner, ids, search }, { signal }) {
      // A record that users can write may name anything.
      const balancerIds = ids.filter((one) => one.kind === kindNames.balancer && uuid.test(one.id));
      const answers = await Promise.all(
        balancerIds.map(({ id }) => client.get({ path: `${balancersPath}/${id}`, signal }, 'load_balancer')),
      );
      const read = answers.flatMap((fields) => (fields === undefined ? [] : foundBalancer(fields)));
      // Names are unique, so there is no second one of a Service that has one.
      const isFound = read.some((one) => isOwnedBy(one, owner));
      const listed = search && !isFound ? await balancers('need', signal) : [];
      // One that a Service names may be newer than the latest audit.
      const isNamed = ids.some(({ kind }) => kind === kindNames.certificate);
      const named = isNamed ? await certificates('need', signal) : [];
      // A list may lag behind a read by id.
      const newer = new Set(balancerIds.map(identityOf));
      return { found: [...read, ...listed.filter((one) => !newer.has(identityOf(one))), ...named] satisfies Found[] };
    },
  };
}

/**
 * By the name that the classic controller gives, or the name or id that the Service's annotations say, and by an
 * address that the Service shows. Where its status shows a hostname alone, which a user chose, annotations are not
 * believed.
 */
function adopts({ kind, id, body }: Found, { owner, proof }: AdoptionInput): string | undefined {
  if (kind !== kindNames.balancer) return undefined;
  const { name, mark, addresses } = body as Balancer;
  const { annotations: said = {} } = proof;
  const isUsual = name === classicName(owner.service);
  const isSaid = said[`${prefix}name`] === name || said[idAnnotation] === id;
  // One that the classic controller leaves alone would go with its Service.
  const isDisowned = flagOf(said[disownAnnotation] ?? '') === true;
  if (mark !== undefined || isDisowned || !(isUsual || isSaid)) return undefined;
  const shown = shownAddresses(proof);
  return addresses.some(shown.has) || (shown.isNamed && isUsual) ? 'main' : undefined;
}

function show({ body }: Found): ShownLoadBalancer {
  const { name, mark, addresses, createdAtMs, certificates, wire } = body as Balancer;
  const isProxy = wire['enable_proxy_protocol'] === true || certificates.length > 0;
  const ingress = ingressOf(addresses, { hostname: mark?.hostname, isProxy });
  return { name, ingress, createdAtMs, service: mark?.service };
}
