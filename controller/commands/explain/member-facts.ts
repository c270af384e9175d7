import type { NodesOfReason } from '../../services/members/node-states.ts';
import type { DesiredMembers } from './desired-members.ts';
import type { Facts, ShownFact } from './shown-fact.ts';

/** So many Nodes are named for one reason; the values have all. */
const namedAtMost = 10;

/** The desired members of a Service, as facts for the output. Pure. */
export function memberFacts(members: DesiredMembers): Facts {
  const label = 'desired members';
  if ('unknown' in members) return { desiredMembers: { label, value: null, text: `unknown: ${members.unknown}` } };
  const { serving, omitted, draining, refused, elsewhere, notKnown } = members;
  const more = omitted === 0 ? '' : `; ${omitted} more would serve, but the cloud takes no more`;
  return {
    desiredMembers: { label, value: serving, text: `${nodesText(serving)}${more}` },
    omittedMembers: { label: 'left out by the cap', value: omitted, text: String(omitted) },
    drainingMembers: groupsFact('draining', draining),
    refusedMembers: groupsFact('refused', refused),
    nodesElsewhere: { label: 'of other clouds', value: elsewhere, text: nodesText(elsewhere) },
    notKnownOfMembers: { label: 'not known here', value: notKnown, text: notKnown.join('; ') },
  };
}

export function countNodes(groups: readonly NodesOfReason[]): number {
  return groups.reduce((sum, { nodes }) => sum + nodes.length, 0);
}

function groupsFact(label: string, groups: readonly NodesOfReason[]): ShownFact {
  const value = groups.map(({ reason, why, nodes }) => ({ reason, why, nodes }));
  const texts = groups.map(({ reason, why, nodes }) => {
    const more = nodes.length > namedAtMost ? ` and ${nodes.length - namedAtMost} more` : '';
    return `${nodes.slice(0, namedAtMost).join(', ')}${more} (${reason}: ${why})`;
  });
  return { label, value, text: texts.length === 0 ? 'none' : `${countNodes(groups)}: ${texts.join('; ')}` };
}

function nodesText(count: number): string {
  return `${count} ${count === 1 ? 'Node' : 'Nodes'}`;
}
