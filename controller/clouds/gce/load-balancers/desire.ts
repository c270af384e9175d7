import { type Desire, type Found, nameOf, type Refusal, type Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { unsupported } from '../../served-ports.ts';
import { asItStands } from '../../standing.ts';
import { lastSegment } from '../client.ts';
import type { BackendSpec } from './backend.ts';
import { backendOf, type DesireOptions, firewallsOf, memberPaths, ruleOf, zonePathOf } from './desire-specs.ts';
import { firewallPath, isCheckFirewall } from './firewall.ts';
import { checksOf, kindNames } from './found.ts';
import { frontOf } from './front.ts';
import type { CheckSpec } from './health-check.ts';
import type { GroupSpec } from './instance-group.ts';
import { describe, describeShared, familyOf, nameFor, ownNames, sharedNames } from './names.ts';
import type { Shown } from './project.ts';
import { denialOf, denialsTo, familiesOf, fieldsOf, portsOf, remarksOf } from './refusals.ts';
import { type Settings, settingsOf } from './settings.ts';
import { currentSettings, standingOf } from './standing.ts';

/** What serves a Service. What it reads of the project is what was found. */
export function desireOf(input: DesireInput, options: DesireOptions): Desire {
  return desireWith(input, settingsOf(input.desired), options, false);
}

/** @param isInPlace nothing may get another address: these settings are those of what stands */
function desireWith(input: DesireInput, settings: Settings, options: DesireOptions, isInPlace: boolean): Desire {
  const { desired, found, own } = input;
  const { owner, service, name } = desired;
  const { project, nodeTags, clusterId } = options;
  const standing = standingOf(own());
  const { served, refusals } = portsOf(desired, settings);
  const unread = [...settings.problems, ...fieldsOf(desired, settings), ...denialOf(name, project)];
  const families = familiesOf(desired, settings, found(kindNames.subnet), options);
  refusals.push(...unread.map(unsupported), ...families.refusals);
  const remarks = remarksOf(desired, settings, options);
  const stays = { wants: standing.all.map(asItStands), refusals, remarks };
  // What cannot be read changes nothing, and nothing goes.
  if (unread.length > 0 || served.length === 0 || families.served.length === 0) return stays;

  const id = clusterId(owner.cluster);
  const backend = backendOf(desired, settings, served, standing, options);
  const fronts = families.served.map((family) => {
    const rule = ruleOf(family, desired, settings, served, backend, options);
    return { family, ...frontOf(input, settings, rule, backend, standing, project) };
  });
  const ips = fronts.flatMap(({ ip }) => ip ?? []);
  refusals.push(...denialsTo(ips, name, project).map(unsupported));
  /** All that needs no other address is done. */
  const inPlace = (refusal: Refusal): Desire => {
    const here = { ...input, desired: { ...desired, address: undefined } };
    const same = isInPlace ? stays : desireWith(here, currentSettings(settings, standing), options, true);
    return { ...same, refusals: [...same.refusals, refusal] };
  };
  const refusal = fronts.find((front) => front.refusal !== undefined)?.refusal;
  if (refusal !== undefined) return inPlace(refusal);
  const reserve = fronts.flatMap((front) => front.reserve ?? []);
  // The address first: what serves stays as it is until nothing can take it away.
  if (reserve.length > 0) return { ...stays, wants: [...stays.wants, ...reserve] };

  const { port, path: requestPath } = desired.healthCheck;
  const description = describe(owner, service);
  const common = describeShared(owner.cluster, id);
  const checkName = lastSegment(backend.check);
  const isShared = checkName !== name;
  const check: Want<CheckSpec> = {
    kind: kindNames.check,
    key: backend.check,
    slot: backend.check,
    summary: `health check ${checkName}`,
    spec: { path: backend.check, name: checkName, description: isShared ? common : description, port, requestPath },
  };
  const groups = (backend.service?.groups ?? []).map((path): Want<GroupSpec> => {
    const instances = memberPaths(desired, options).filter((one) => one.startsWith(zonePathOf(path)));
    const spec = { path, name: sharedNames.group(id), description: common, instances };
    return { kind: kindNames.group, key: path, slot: path, spec, summary: `instance group ${path}` };
  });
  const main: Want<BackendSpec> = {
    kind: kindNames.backend,
    key: 'main',
    slot: backend.path,
    spec: backend,
    needs: [check, ...groups].map(nameOf),
    summary: `backend ${name}`,
  };
  const firewalls = fronts.flatMap(({ family, ip, standing: { rule } }) =>
    project.isShared
      ? []
      : firewallsOf({
          family,
          desired,
          served,
          ip,
          backend,
          isShared,
          nodeTags,
          id,
          isOurs: rule?.owner !== undefined,
        }),
  );
  const isChecked = standing.backend === undefined || checksOf(standing.backend.body).includes(backend.check);
  const unknown = fronts.filter(({ ip }) => ip === undefined).map(({ family }) => nameFor(family, name));
  const isUnserved = ({ kind, body }: Found) => {
    const isFamilys = kind === kindNames.rule || kind === kindNames.address || kind === kindNames.firewall;
    const family = familyOf((body as Shown).name);
    return isFamilys && desired.families.includes(family) && !families.served.includes(family);
  };
  const waiting = standing.all.filter(
    (one) =>
      isUnserved(one) ||
      unknown.some((front) => one.key === firewallPath(ownNames.firewall(front))) ||
      // The health checks of before come in until the backend uses the next one.
      (!isChecked && isCheckFirewall(one) && firewalls.every(({ key }) => key !== one.key)),
  );
  const wants = [check, ...groups, main, ...fronts.flatMap((front) => front.wants), ...firewalls] as readonly Want[];
  return { wants: [...wants, ...waiting.map(asItStands)], refusals, remarks };
}
