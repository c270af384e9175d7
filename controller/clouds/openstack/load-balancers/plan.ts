import { accessTo } from '../../access.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { featuresOf } from './features.ts';
import { carriesPieces, type OctaviaObserved, type Pieces, type Subject } from './observed.ts';
import { planAttached } from './plan-attached.ts';
import { planCreate } from './plan-create.ts';
import { foreignId, planOwn } from './plan-own.ts';
import { planPieces } from './plan-pieces.ts';
import { isPending, lookedAt, nothing, type OctaviaPlan, waitFor } from './plan-wait.ts';
import { readSettings } from './settings.ts';
import { consentOf } from './tags.ts';
import { memberRefusals, type Wanted } from './wanted.ts';

export interface PlanParts {
  readonly config: LoadBalancerConfig;
  /** Of the API, as far as it has been asked. */
  readonly minor: number | undefined;
  readonly serverIdOf: (providerID: string) => string | undefined;
}

export function planLoadBalancer(
  desired: DesiredLoadBalancer,
  observed: OctaviaObserved | undefined,
  parts: PlanParts,
): OctaviaPlan {
  const pieces = observed?.pieces;
  const subject: Subject = {
    owner: desired.owner,
    service: desired.service,
    name: desired.name,
    attachTo: desired.attach?.id,
    address: desired.address,
    adopt: pieces?.subject.adopt,
    id: pieces?.subject.id ?? pieces?.own?.id,
  };
  const main = (desired.attach && pieces?.hosts.find(({ id }) => id === desired.attach?.id)) ?? pieces?.own;
  const features = featuresOf(parts.minor, main?.provider || parts.config.provider);
  const { config, serverIdOf } = parts;
  const settings = readSettings(desired, { config, features });
  const wanted: Wanted = { desired, settings, features, config, subject, serverIdOf };
  const plan = desired.attach ? planAttached(wanted, pieces) : planOfItsOwn(wanted, pieces);
  const refusals = [...settings.refusals, ...settings.remarks, ...memberRefusals(wanted), ...plan.refusals];
  return lookedAt({ ...plan, refusals }, pieces);
}

function planOfItsOwn(wanted: Wanted, pieces: Pieces | undefined): OctaviaPlan {
  const { desired, subject, settings } = wanted;
  if (pieces?.own) return planOwn(wanted, pieces, pieces.own);
  const host = pieces?.hosts.find((one) => carriesPieces(one, subject));
  if (pieces && host && !desired.mayChangeAddress) {
    const message = `${desired.service} uses load balancer ${host.id}, which somebody else made; one of its own has another address`;
    if (isPending(host)) return waitFor(host);
    const { may } = accessTo({ what: `load balancer ${host.id}`, consent: consentOf(host.tags) }, desired);
    const { steps, refusals } = planPieces(wanted, host, false, may === 'use');
    return { steps, refusals: [{ reason: 'AddressWouldChange', message }, ...refusals], waitMs: undefined };
  }
  if (settings.namedId !== undefined) return { ...nothing, refusals: [foreignId(settings.namedId)] };
  return planCreate(wanted, pieces);
}
