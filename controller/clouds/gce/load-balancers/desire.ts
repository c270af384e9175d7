import { type Desire, nameOf, type Refusal, type Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { type BackendSpec, backendDifference } from './backend.ts';
import {
  backendOf,
  type DesireOptions,
  firewallsOf,
  instancesOf,
  ruleOf,
  sharedCheck,
  zonePathOf,
} from './desire-specs.ts';
import { firewallPath, isCheckFirewall } from './firewall.ts';
import { type RuleSpec, ruleDifference } from './forwarding-rule.ts';
import { checksOf, ipOf, kindNames, rulePath } from './found.ts';
import type { CheckSpec } from './health-check.ts';
import type { GroupSpec } from './instance-group.ts';
import { describe, describeShared, ownNames, sharedNames } from './names.ts';
import type { Shown } from './project.ts';
import { familiesOf, fieldsOf, portsOf, remarksOf, unsupported } from './refusals.ts';
import { whyUnusable } from './requested-address.ts';
import { type Settings, settingsOf } from './settings.ts';
import { asItStands, holdOf, keptIp, reserved, stand, standingOf } from './standing.ts';

/** What serves a Service. Pure: what it reads of the project is what was found. */
export function desireOf(input: DesireInput, options: DesireOptions): Desire {
  return desireWith(input, settingsOf(input.desired.annotations), options);
}

function desireWith(input: DesireInput, settings: Settings, options: DesireOptions): Desire {
  const { desired, found, own } = input;
  const { owner, service, name } = desired;
  const { project, nodeTags, clusterId } = options;
  const standing = standingOf(own());
  const { served, refusals } = portsOf(desired, settings);
  const unread = [...settings.problems, ...fieldsOf(desired, settings)];
  refusals.push(...unread.map(unsupported), ...familiesOf(desired));
  const remarks = remarksOf(desired, options);
  const stays = { wants: standing.all.map(stand), refusals, remarks };
  // What cannot be read changes nothing, and nothing goes.
  if (unread.length > 0 || served.length === 0 || !desired.families.includes('IPv4')) return stays;

  const id = clusterId(owner.cluster);
  const named = settings.address === undefined ? undefined : reserved(settings.address, found(kindNames.address));
  const backend = backendOf(desired, settings, served, standing, options);
  const rule = ruleOf(desired, settings, served, backend, options);
  const askedIp = named?.ip ?? desired.address;
  const kept = keptIp(standing, rule, askedIp);
  const whole: RuleSpec = { ...rule, ip: askedIp ?? kept };
  const replaced =
    standing.rule &&
    (ruleDifference(standing.rule.body, whole) ??
      (standing.backend && backendDifference(standing.backend.body, backend)));
  const isReserved = found(kindNames.address).some(({ lent, body }) => lent && ipOf(body as Shown) === kept);
  /** All that needs no other address is done. */
  const inPlace = (refusal: Refusal): Desire => {
    const here = { ...input, desired: { ...desired, address: undefined } };
    const same = desireWith(here, asItStands(settings, standing), { ...options, subnet: undefined });
    return { ...same, refusals: [...same.refusals, refusal] };
  };
  if (replaced !== undefined && kept === undefined && !desired.mayChangeAddress)
    return inPlace({ reason: 'AddressWouldChange', message: `${kindNames.rule} ${name}: ${replaced}` });
  if (standing.rule !== undefined && kept === undefined && askedIp !== undefined) {
    const why = whyUnusable(whole, standing.rule, found(kindNames.address) as never, found(kindNames.rule) as never);
    if (why !== undefined) return inPlace(unsupported(`address ${why}`));
  }
  const hold = replaced !== undefined && kept !== undefined && !isReserved;
  const address = holdOf(desired, rule, kept, standing);
  // The address first: what serves stays as it is until nothing can take it away.
  if (hold && standing.held === undefined) return { ...stays, wants: [...stays.wants, address!] };

  const isShared = desired.healthCheck.port === sharedCheck.port && desired.healthCheck.path === sharedCheck.path;
  const { port, path: requestPath } = desired.healthCheck;
  const description = describe(owner, service);
  const common = describeShared(owner.cluster, id);
  const checkName = isShared ? sharedNames.check(id) : name;
  const check: Want<CheckSpec> = {
    ...{ kind: kindNames.check, key: backend.check, slot: backend.check, summary: `health check ${checkName}` },
    spec: { path: backend.check, name: checkName, description: isShared ? common : description, port, requestPath },
  };
  const groups = (backend.service?.groups ?? []).map((path): Want<GroupSpec> => {
    const instances = instancesOf(desired, options).filter((one) => one.startsWith(zonePathOf(path)));
    const spec = { path, name: sharedNames.group(id), description: common, instances };
    return { kind: kindNames.group, key: path, slot: path, spec, summary: `instance group ${path}` };
  });
  const main: Want<BackendSpec> = {
    ...{ kind: kindNames.backend, key: 'main', slot: backend.path, spec: backend },
    ...{ needs: [check, ...groups].map(nameOf), summary: `backend ${name}` },
  };
  // It goes when the rule that has its address is there.
  const holding = hold || standing.rule === undefined ? standing.held : undefined;
  const addresses: Want[] = [...(named?.wants ?? []), ...(holding === undefined ? [] : [stand(holding)])];
  const front: Want<RuleSpec> = {
    ...{
      kind: kindNames.rule,
      key: 'main',
      slot: rulePath(project, name),
      spec: whole,
      summary: `forwarding rule ${name}`,
    },
    needs: [nameOf(main), ...addresses.map(nameOf)],
  };
  // The rule that stands lets in until another one is there.
  const ip = standing.rule === undefined ? whole.ip : ipOf(standing.rule.body);
  const firewalls = project.isShared
    ? []
    : firewallsOf({ desired, served, ip, backend, isShared, nodeTags, id, isOurs: standing.rule?.owner !== undefined });
  const isChecked = standing.backend === undefined || checksOf(standing.backend.body).includes(backend.check);
  const waiting = standing.all.filter(
    (one) =>
      (ip === undefined && one.key === firewallPath(ownNames.firewall(name))) ||
      // The health checks of before come in until the backend uses the next one.
      (!isChecked && isCheckFirewall(one) && firewalls.every(({ key }) => key !== one.key)),
  );
  return {
    wants: [check, ...groups, main, ...addresses, front, ...firewalls, ...waiting.map(stand)] as readonly Want[],
    ...{ refusals, remarks },
  };
}
