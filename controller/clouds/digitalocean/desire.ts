import { digitalocean } from '../../../common/provider-id/digitalocean.ts';
import { type Desire, type Found, nameOf, type Want } from '../../engine/resource.ts';
import type { DesireInput } from '../load-balancer-driver.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../load-balancers.ts';
import { servedPorts, unsupported } from '../served-ports.ts';
import { prefix } from './annotations.ts';
import { type Balancer, type Certificate, type Json, kindNames } from './balancer.ts';
import type { BalancerSpec } from './balancers.ts';
import { uuid } from './config.ts';
import { maxNameLength, printName } from './names.ts';
import { type Settings, settingsOf } from './settings.ts';

/** What serves a Service. Pure. */
export function desireOf({ desired, found, own }: DesireInput, defaultType: string): Desire {
  const { owner, service, attach, sessionAffinity, address } = desired;
  const settings = settingsOf(desired);
  const { title, hostname, problems, remarks, fixed, body } = settings;
  const mark = { owner, service, title, hostname };
  const name = printName(mark);
  const standing = own().find(({ kind }) => kind === kindNames.balancer) as Found<Balancer> | undefined;
  const main: Want = {
    kind: kindNames.balancer,
    key: 'main',
    slot: `name ${name}`,
    carriesAddress: true,
    spec: undefined,
    summary: `load balancer ${name}`,
  };
  const unread = [...problems];
  if (name.length > maxNameLength) {
    const shown = `${JSON.stringify(name)} has ${name.length} characters`;
    unread.push(`${prefix}name: ${shown}, expected at most ${maxNameLength}`);
  }
  // Neither consent nor who uses it could be read there.
  if (attach !== undefined)
    unread.push(
      `mooring.dev/load-balancer-id: ${JSON.stringify(attach.id)}, expected none: it shows no tags on this cloud`,
    );
  const isNetwork = (fixed['type'] ?? standing?.body.wire['type'] ?? defaultType) === 'REGIONAL_NETWORK';
  // One of the network keeps the port of a connection.
  const { served, refusals } = servedPorts(desired, !isNetwork);
  const refuse = (message: string) => refusals.push(unsupported(message));
  if (sessionAffinity) refuse(`spec.sessionAffinity: "ClientIP", expected "None", or ${prefix}sticky-sessions-type`);
  if (address) refuse(`spec.loadBalancerIP: ${JSON.stringify(address)}, expected none, or ${prefix}ip`);
  unread.forEach(refuse);
  // What cannot be read changes nothing, and nothing goes.
  if (unread.length > 0 || served.length === 0)
    return { wants: [{ ...main, leaveUnchanged: true }], refusals, remarks };

  const certificates = found(kindNames.certificate) as readonly Found<Certificate>[];
  const certificate = certificateOf(settings, standing?.body, certificates);
  const spec: BalancerSpec = {
    mark,
    fixed,
    body: {
      ...body,
      forwarding_rules: served.flatMap((port) => rulesOf(port, settings, certificate.id, isNetwork)),
      droplet_ids: dropletsOf(desired, standing?.body.droplets ?? []),
    },
  };
  return {
    wants: [...certificate.wants, { ...main, needs: certificate.wants.map(nameOf), spec }],
    refusals,
    remarks: [...remarks, ...certificate.remarks],
  };
}

function rulesOf(
  { port, protocol, nodePort }: DesiredPort,
  settings: Settings,
  certificate: string | undefined,
  isNetwork: boolean,
): Json[] {
  const rule = (entry: string, target: string, more: Json = {}): Json => ({
    entry_protocol: entry,
    entry_port: port,
    target_protocol: target,
    target_port: isNetwork ? port : nodePort,
    ...more,
  });
  if (protocol === 'UDP') return [rule('udp', 'udp')];
  const entry = isNetwork ? 'tcp' : settings.protocolOf(port);
  const withCertificate = certificate === undefined ? {} : { certificate_id: certificate };
  const isTls = entry === 'https' || entry === 'http2';
  if (!isTls) return [rule(entry, entry)];
  if (settings.isPassedThrough) return [rule(entry, entry, { tls_passthrough: true })];
  const http3 = settings.http3Port === port ? [rule('http3', 'http', withCertificate)] : [];
  return [rule(entry, 'http', withCertificate), ...http3];
}

/** Those that are known by their providerID alone stay, and are not added. */
function dropletsOf({ members }: DesiredLoadBalancer, standing: readonly number[]): number[] {
  const ids = members.flatMap(({ providerID, addresses }) => {
    const id = Number(digitalocean.parse(providerID)?.instanceId);
    return Number.isSafeInteger(id) && (addresses.length > 0 || standing.includes(id)) ? [id] : [];
  });
  return [...new Set(ids)];
}

/** The certificate that is named. One that the cloud has renewed has another id, which its rules have, too. */
function certificateOf(
  { certificate: named }: Settings,
  standing: Balancer | undefined,
  certificates: readonly Found<Certificate>[],
): { readonly id?: string; readonly wants: readonly Want[]; readonly remarks: readonly string[] } {
  if (named === undefined) return { wants: [], remarks: [] };
  const is = (id: string) => certificates.some((one) => one.id === id);
  const there = certificates.find(({ body }) => body.id === named || body.name === named)?.id;
  const renewed = there === undefined && uuid.test(named) ? standing?.certificates.find(is) : undefined;
  const id = there ?? renewed ?? named;
  const use = { kind: kindNames.certificate, key: named, use: { id, allowed: true }, spec: undefined };
  const remark = `certificate ${named} is gone, and ${renewed} stays in its place: use ${prefix}certificate-name`;
  return { id, wants: [{ ...use, summary: `certificate ${named}` }], remarks: renewed === undefined ? [] : [remark] };
}
