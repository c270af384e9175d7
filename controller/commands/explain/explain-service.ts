import { annotations, conditions, labels, names } from '../../../common/well-known.ts';
import { attachTo, hasFinalizer, isPaused, isRetained, type ServiceView } from '../../model/service-view.ts';
import type { ReasonInfo } from '../../nodes/reasons.ts';
import { intentOf } from '../../services/intent.ts';
import { type LoadBalancerReason, loadBalancerReasons } from '../../services/reasons.ts';
import { type LoadBalancerRecord, parseRecord } from '../../services/record.ts';
import type { DesiredMembers } from './desired-members.ts';
import { endPause } from './end-pause.ts';
import type { Surroundings } from './facts.ts';
import { hiddenFacts, leaderFacts, leaderFault } from './leader.ts';
import { memberFacts } from './member-facts.ts';
import { type Facts, fact, type ShownFact } from './shown-fact.ts';

/** The facts of the API server about a Service. */
export interface ServiceFacts extends Surroundings {
  readonly service: ServiceView;
  /** The `--load-balancer-class` of this command; a Service with our record counts as ours in any case. */
  readonly loadBalancerClasses: readonly string[];
  /** Undefined: not asked for. */
  readonly members?: DesiredMembers | undefined;
}

export interface ServiceExplanation {
  /** `namespace/name`. */
  readonly service: string;
  /** The state, in one or two words. */
  readonly state: 'ensured' | 'waiting' | 'refused' | 'deleting' | 'paused' | 'foreign' | 'none';
  /** One of the documented reason codes, where one applies. */
  readonly reason: string;
  readonly why: string;
  /** What to do about it; empty when nothing need be done. */
  readonly remedy: string;
  readonly facts: Facts;
  readonly events: Surroundings['events'];
}

/** Explains the state of a Service from the data of the API server alone. Pure. */
export function explainService(facts: ServiceFacts): ServiceExplanation {
  const told = verdict(facts);
  return { service: facts.service.key, ...told, facts: listFacts(facts, told.state), events: facts.events };
}

type Verdict = Pick<ServiceExplanation, 'state' | 'reason' | 'why' | 'remedy'>;

/** Reasons that end without action; all other reasons of a condition that is not True need an operator. */
const temporary: ReadonlySet<string> = new Set<LoadBalancerReason>([
  'Provisioning',
  'AwaitingCloud',
  'CredentialRefused',
  'QuotaExceeded',
  'WriteRefused',
  'NoMembers',
  'AwaitingEndpoints',
]);

function verdict(facts: ServiceFacts): Verdict {
  const { service, pausedForAll, loadBalancerClasses } = facts;
  const intent = intentOf(service, loadBalancerClasses);
  const shown = service.condition;
  if (intent === 'none' && shown === undefined) return unconcerned(service);
  const waits = service.deleting ? '; it is being deleted, which waits' : '';
  if (pausedForAll) {
    const why = `everything is paused (ConfigMap ${names.certificates}, key ${names.pausedKey})${waits}`;
    return { state: 'paused', reason: 'Paused', why, remedy: endPause(facts) };
  }
  if (isPaused(service)) {
    const why = `the Service carries ${annotations.paused}=${service.annotations[annotations.paused]}${waits}`;
    return { state: 'paused', reason: 'Paused', why, remedy: resumed(service) };
  }
  const known: ReasonInfo | undefined = shown && loadBalancerReasons[shown.reason as LoadBalancerReason];
  const told = {
    reason: shown?.reason ?? '',
    why: shown?.message || (known?.meaning ?? ''),
    remedy: known?.remedy ?? '',
  };
  const record = parseRecord(service.annotations[annotations.loadBalancer]);
  if (intent === 'remove' && record === undefined && shown === undefined) {
    const why =
      'it carries the cleanup finalizer and no record of ours: the controller that served it should remove that; ' +
      'where it does not, within five minutes the condition says what to do';
    return { state: 'foreign', reason: '', why, remedy: silence(facts).remedy };
  }
  if ((intent === 'remove' || intent === 'disown') && (record !== undefined || shown?.status === 'True')) {
    if (shown?.status === 'False') return { state: 'deleting', ...told };
    const why =
      'its load balancer is being deleted; the finalizer is removed when the cloud has proved that it is gone';
    return { state: 'deleting', reason: '', why, remedy: silence(facts).remedy };
  }
  if (shown === undefined && isServedByAnother(service)) {
    const why = 'it has an address, and neither a record nor a condition of ours: another controller serves it';
    return { state: 'foreign', reason: '', why, remedy: '' };
  }
  if (shown === undefined) return { state: 'waiting', reason: '', ...silence(facts) };
  if (shown.status === 'True') return { state: 'ensured', ...told };
  return { state: temporary.has(shown.reason) ? 'waiting' : 'refused', ...told };
}

/** Whether the controller chooses members for it. Pure. */
export function hasMembers({ service, loadBalancerClasses }: Pick<ServiceFacts, 'service' | 'loadBalancerClasses'>) {
  return intentOf(service, loadBalancerClasses) === 'ensure' && !isServedByAnother(service);
}

function isServedByAnother({ annotations: held, ingress }: ServiceView): boolean {
  return ingress.length > 0 && parseRecord(held[annotations.loadBalancer]) === undefined;
}

function resumed({ namespace, name }: ServiceView): string {
  return `To go on: kubectl annotate service ${name} -n ${namespace} ${annotations.paused}-`;
}

function unconcerned(service: ServiceView): Verdict {
  if (service.type === 'LoadBalancer' && service.loadBalancerClass !== '') {
    const why =
      `its class ${service.loadBalancerClass} is not among --load-balancer-class of this command; a controller with ` +
      'the same flag never changes it';
    return { state: 'foreign', reason: '', why, remedy: '' };
  }
  const left = service.finalizers.length === 0 ? '' : `; it waits for the finalizers ${service.finalizers.join(', ')}`;
  const why =
    service.type === 'LoadBalancer'
      ? `it is being deleted, and nothing of ours is left${left}`
      : `its type is ${service.type}, so it needs no load balancer`;
  return { state: 'none', reason: '', why, remedy: '' };
}

function silence(facts: ServiceFacts): Pick<Verdict, 'why' | 'remedy'> {
  const { service, leader } = facts;
  return (
    leaderFault(facts) ?? {
      why:
        `controller ${leader?.identity} leads and has not written to it: it is new, or no configured cloud has ` +
        `load balancers, which is told after a minute, or another controller writes ${conditions.loadBalancer}`,
      remedy: `Check the log of the leader for ${service.key}.`,
    }
  );
}

function listFacts(facts: ServiceFacts, state: Verdict['state']): Facts {
  const { service } = facts;
  const record = parseRecord(service.annotations[annotations.loadBalancer]);
  const finalizer = hasFinalizer(service);
  const about = {
    type: fact('type', service.type, 'unset'),
    deleting: { label: 'being deleted', value: service.deleting, text: service.deleting ? 'yes' : 'no' },
  };
  const around = { ...leaderFacts(facts), ...hiddenFacts(facts) };
  if (service.type !== 'LoadBalancer' && record === undefined && !finalizer) return { ...about, ...around };
  const { healthCheckNodePort } = service;
  return {
    ...about,
    class: fact('class', service.loadBalancerClass, 'unset'),
    scope: fact('scope', record?.scope, 'not recorded'),
    loadBalancer: { label: 'load balancer', value: record?.id ?? null, text: balancerText(service, record) },
    addresses: addressesOf(service),
    ports: {
      label: 'ports',
      value: service.ports.map(({ port, protocol, nodePort }) => ({ port, protocol, nodePort: nodePort || null })),
      text: service.ports
        .map(({ port, protocol, nodePort }) => `${protocol} ${port} (node port ${nodePort || 'none'})`)
        .join(', '),
    },
    trafficPolicy: fact('traffic policy', service.externalTrafficPolicy, 'unset'),
    healthCheck: {
      label: 'health check',
      value: { port: healthCheckNodePort === 0 ? 10_256 : healthCheckNodePort, path: '/healthz' },
      text: `of Nodes ${healthCheckNodePort || 'kube-proxy, 10256'}/healthz, or by annotations`,
    },
    ...(facts.members === undefined ? {} : memberFacts(facts.members)),
    finalizer: { label: 'cleanup finalizer', value: finalizer, text: finalizer ? 'on' : 'off' },
    existingLoadBalancer: fact('existing load balancer', attachTo(service), 'no'),
    atDeletion: endOf(service, state),
    excludedNodes: fact('nodes left out', labels.excludeFromLoadBalancers, ''),
    ...around,
  };
}

function addressesOf({ ingress }: ServiceView): ShownFact {
  const value = ingress.map(({ ip, hostname, ipMode }) => ({
    ...(ip === undefined ? { hostname: hostname ?? '' } : { ip }),
    ...(ipMode === undefined ? {} : { ipMode }),
  }));
  const texts = ingress.map(({ ip, hostname, ipMode }) =>
    [ip ?? hostname, ipMode === 'Proxy' ? '(Proxy)' : ''].filter(Boolean).join(' '),
  );
  return { label: 'addresses', value, text: texts.join(', ') || 'none' };
}

/** Only the condition shows whether the operator allows the retention. */
function endOf(service: ServiceView, state: Verdict['state']): ShownFact {
  const label = 'when the Service goes';
  if (state === 'foreign') return { label, value: 'foreign', text: 'nothing is deleted: no load balancer is ours' };
  if (attachTo(service) !== undefined) return { label, value: 'retained', text: 'the load balancer is retained' };
  if (!isRetained(service)) return { label, value: 'deleted', text: 'the load balancer is deleted' };
  return service.condition?.reason === 'RetentionNotAllowed'
    ? { label, value: 'deleted', text: 'the load balancer is deleted: the operator does not allow its retention' }
    : { label, value: 'retainedIfAllowed', text: 'the load balancer is retained, if the operator allows it' };
}

function balancerText({ condition }: ServiceView, record: LoadBalancerRecord | undefined): string {
  if (record === undefined) return 'not recorded';
  if (record.adopted) return `${record.id}, adopted; our tags are added with its first change`;
  if (record.id !== undefined) return record.id;
  const refused = condition?.status === 'False' && !temporary.has(condition.reason) && condition.reason !== 'Deleting';
  return refused ? `none: ${condition.reason}` : 'pending: requested, no answer yet';
}
