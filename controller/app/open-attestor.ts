import { randomBytes } from 'node:crypto';
import type { Clock } from '../../common/process/clock.ts';
import { createHttp } from '../../common/process/http.ts';
import type { Log } from '../../common/process/log.ts';
import type { MetricRegistry } from '../../common/process/metrics.ts';
import type { Informer } from '../kube/informer.ts';
import { isAttested } from '../model/attested.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { isUninitialized, type NodeView, readiness } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import { type Attestor, createAttestor } from '../reports/attestation/attestor.ts';
import { createChallenges } from '../reports/attestation/challenges.ts';
import { fetchBytes } from '../reports/attestation/fetch-bytes.ts';
import { createAttestationMetrics } from '../reports/attestation/metrics.ts';
import type { Trust } from '../reports/attestation/trust.ts';
import { createVerifiers } from '../reports/attestation/verifiers.ts';
import type { ReportStore } from '../reports/store.ts';
import { OptionError } from './options/options.ts';

export interface OpenAttestorParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: MetricRegistry;
  readonly clouds: readonly ConfiguredCloud[];
  readonly trust: Trust;
  readonly nodes: Informer<NodeView>;
  readonly reports: ReportStore;
}

/**
 * The attestor of the configured clouds; undefined when none of them signs identities. Makes no request.
 *
 * @throws an OptionError when attestation is required of a cloud without trusted keys
 */
export function openAttestor(parts: OpenAttestorParts): Attestor | undefined {
  const { clock, log, registry, clouds, trust, nodes, reports } = parts;
  const { http } = createHttp({ clock });
  const names = clouds.map(({ name }) => name);
  const { verifiers, roots } = createVerifiers(names, { clock, trust, http, fetchBytes });
  for (const { name, requireAttestation = false } of clouds) {
    if (!requireAttestation || verifiers.some(({ cloud }) => cloud === name)) continue;
    throw new OptionError(
      `--require-attestation: ${JSON.stringify(name)}, expected --attestation-trust ${name}=FILE beside it: ` +
        'nothing is trusted for it yet',
    );
  }
  if (verifiers.length === 0) return undefined;
  const metrics = createAttestationMetrics(registry, {
    roots,
    assurances: () => reports.assurances(),
    unproved: () => countUnproved(nodes, clouds),
  });
  const attestor = createAttestor({
    clock,
    log,
    challenges: createChallenges(clock, randomBytes(32)),
    verifiers,
    alive(name) {
      const node = nodes.get(name);
      return node !== undefined && !node.deleting && readiness(node) !== 'Unknown';
    },
    providerIDOf: (name) => nodes.get(name)?.providerID ?? '',
    onJudged: metrics.judged,
  });
  nodes.subscribe((event) => {
    if (event.type === 'deleted') attestor.release(event.key);
  });
  return attestor;
}

function countUnproved(nodes: Informer<NodeView>, clouds: readonly ConfiguredCloud[]): ReadonlyMap<string, number> {
  const required = clouds.filter(({ requireAttestation = false }) => requireAttestation);
  const counts = new Map(required.map(({ name }) => [name, 0]));
  if (required.length === 0) return counts;
  for (const node of nodes.values()) {
    if (isUninitialized(node) || isAttested(node)) continue;
    const ownership = ownershipOf(node, clouds);
    const name = ownership.kind === 'owned' ? ownership.clouds[0]?.name : undefined;
    if (name !== undefined && counts.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
