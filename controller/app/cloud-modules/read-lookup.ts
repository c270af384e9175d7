// A namespace import, so that the bundle contains only the used types of the library.
import * as Type from 'typebox';
import { Compile } from 'typebox/schema';
import type { Instance, PowerState } from '../../../common/instance.ts';
import { codecOf } from '../../../common/provider-id/registry.ts';
import type { InstanceRef, Lookup } from '../../clouds/cloud.ts';
import { addressFault } from '../../reports/address-fault.ts';
import { faultOf } from '../../reports/read-report.ts';
import { instanceSchema, maintenanceSchema, smbiosUuidSchema } from '../../reports/report-schema.ts';
import type { CallGuard } from './call-guard.ts';

const operation = 'lookup';
const powerStates: readonly PowerState[] = ['running', 'stopped', 'suspended', 'changing'];

const schema = Type.Object(
  {
    ...instanceSchema.properties,
    keepsInternalIPs: Type.Optional(Type.Boolean()),
    namesakesUnknown: Type.Optional(Type.String({ maxLength: 512 })),
    placeUnknown: Type.Optional(Type.String({ maxLength: 512 })),
    podRanges: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
    maintenance: Type.Optional(Type.Array(maintenanceSchema, { maxItems: 16 })),
    smbiosUuid: Type.Optional(smbiosUuidSchema),
  },
  { additionalProperties: false },
);

/**
 * Creates the function that reads what a module answers about one ref: `unknown` whatever is not as the contract has
 * it, so that no decision follows from it. Never throws.
 */
export function createLookupReader(cloud: string, guard: CallGuard): (ref: InstanceRef, answer: unknown) => Lookup {
  const validator = Compile(schema);
  const codec = codecOf(cloud);
  const wrong = (message: string): Lookup => ({ state: 'unknown', error: guard.fault(operation, message) });
  const field = (name: string, value: unknown, expected: string) =>
    wrong(`${name}: ${JSON.stringify(value)?.slice(0, 80) ?? 'nothing'}, expected ${expected}`);

  function readFound(ref: InstanceRef, answer: Readonly<Record<string, unknown>>): Lookup {
    const { instance, power, request } = answer;
    if (!validator.Check(instance)) {
      const [, [error]] = validator.Errors(instance);
      if (error === undefined) return field('instance', instance, 'an instance');
      const fault = faultOf(instance, error);
      return wrong(`instance.${fault.field}: ${fault.value}, expected ${fault.expected}`);
    }
    const read = instance as Instance;
    const bad = read.addresses.find((one) => addressFault(one) !== undefined);
    if (bad !== undefined) return field('instance.addresses', bad.address, addressFault(bad)!);
    if (read.cloud !== cloud) return field('instance.cloud', read.cloud, cloud);
    if (codec.parse(read.providerID)?.instanceId !== read.id)
      return field('instance.providerID', read.providerID, `that of instance ${read.id}`);
    if (ref.by === 'providerID' && read.providerID !== ref.providerID)
      return field('instance.providerID', read.providerID, ref.providerID);
    const state = powerStates.find((one) => one === power);
    if (state === undefined) return field('power', power, `one of ${powerStates.join(', ')}`);
    if (request !== 'list' && request !== 'id') return field('request', request, 'list or id');
    return { state: 'found', instance: read, power: state, request };
  }

  function readLookup(ref: InstanceRef, answer: unknown): Lookup {
    if (typeof answer !== 'object' || answer === null) return wrong(`no answer for ${JSON.stringify(ref)}`);
    const fields = answer as Readonly<Record<string, unknown>>;
    const { state, terminalState, incarnation, error } = fields;
    if (state === 'unknown') return { state, error: guard.asCloudError(operation, error, 'Unavailable') };
    if (state === 'found') return readFound(ref, fields);
    if (state !== 'absent' && state !== 'gone') return field('state', state, 'found, gone, absent or unknown');
    // Only a request for that very id proves it.
    if (ref.by === 'name') return field('state', state, 'found or unknown, because a name proves no absence');
    if (state === 'absent') return { state };
    if (typeof terminalState !== 'string') return field('terminalState', terminalState, 'a text');
    return { state, terminalState, ...(typeof incarnation === 'string' && { incarnation }) };
  }

  return (ref, answer) => {
    try {
      return readLookup(ref, answer);
    } catch (error) {
      return { state: 'unknown', error: guard.asCloudError(operation, error, 'Invalid') };
    }
  };
}
