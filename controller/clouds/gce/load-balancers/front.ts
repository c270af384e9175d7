import { isIP } from 'node:net';
import { nameOf, type Refusal, type Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { unsupported } from '../../served-ports.ts';
import { asItStands } from '../../standing.ts';
import { type BackendSpec, backendDifference } from './backend.ts';
import { type RuleSpec, ruleDifference } from './forwarding-rule.ts';
import { ipOf, keyFor, kindNames, rulePath } from './found.ts';
import type { Project, Shown } from './project.ts';
import { whyUnusable } from './requested-address.ts';
import type { Settings } from './settings.ts';
import { holdOf, keptIp, type Standing } from './standing.ts';

/** The forwarding rule of one family, and what holds its address while another rule takes the place of one. Pure. */
export function frontOf(
  { desired, found }: DesireInput,
  { addresses }: Settings,
  rule: Omit<RuleSpec, 'ip'>,
  backend: BackendSpec,
  { fronts, backend: standingBackend }: Standing,
  project: Project,
) {
  const { family, name } = rule;
  const standing = fronts[family];
  const known = found(kindNames.address) as Parameters<typeof whyUnusable>[2];
  const isOfFamily = (ip: string | undefined) => ip !== undefined && isIP(ip) === (family === 'IPv6' ? 6 : 4);
  // Where one is not known, a read follows.
  const named = addresses.flatMap((one) => {
    const reserved = known.find(({ body, consentForAnyCluster: lent }) => lent && body.name === one);
    const ip = reserved && ipOf(reserved.body);
    if (ip !== undefined && !isOfFamily(ip)) return [];
    const use = { id: reserved?.id ?? one, allowed: true };
    const key = `reserved ${one}`;
    return { ip, want: { kind: kindNames.address, key, use, spec: undefined, summary: `address ${one}` } as Want };
  });
  const asked = named[0]?.ip ?? (isOfFamily(desired.address) ? desired.address : undefined);
  const kept = keptIp(standing, rule, asked);
  const whole: RuleSpec = { ...rule, ip: asked ?? kept };
  const replaced =
    standing.rule &&
    (ruleDifference(standing.rule.body, whole) ??
      (standingBackend && backendDifference(standingBackend.body, backend)));
  const isLost = kept === undefined && (replaced !== undefined || (standing.rule === undefined && standing.held));
  const unusable =
    standing.rule !== undefined && kept === undefined && asked !== undefined
      ? whyUnusable(whole, standing.rule, known, found(kindNames.rule) as never)
      : undefined;
  const refusal: Refusal | undefined =
    isLost && !desired.mayChangeAddress
      ? { reason: 'AddressWouldChange', message: `${kindNames.rule} ${name}: ${replaced ?? 'address'}` }
      : unusable === undefined
        ? undefined
        : unsupported(`address ${unusable}`);
  const isReserved = known.some(({ consentForAnyCluster: lent, body }) => lent && ipOf(body) === kept);
  const isHeld = replaced !== undefined && kept !== undefined && !isReserved;
  // It goes when the rule that has its address is there.
  const holding = isHeld || standing.rule === undefined ? standing.held : undefined;
  const held: Want[] = [...named.map(({ want }) => want), ...(holding === undefined ? [] : [asItStands(holding)])];
  const path = rulePath(project, name);
  const front: Want<RuleSpec> = {
    kind: kindNames.rule,
    key: keyFor(family),
    slot: path,
    spec: whole,
    summary: `forwarding rule ${name}`,
    needs: [`${kindNames.backend}/main`, ...held.map(nameOf)],
  };
  const wants: readonly Want[] = [...held, front as Want];
  return {
    /** Why it is to stay where it is. */
    refusal,
    standing,
    /** The address has to be reserved before anything else. */
    reserve: isHeld && standing.held === undefined ? holdOf(desired, rule, kept, standing.rule!) : undefined,
    /** Addresses and the forwarding rule. */
    wants,
    /** The address that nodes see now. Undefined: not known before the rule is there, which lets in until then. */
    ip: standing.rule === undefined ? whole.ip : ipOf(standing.rule.body as Shown),
  };
}
