import { defineFlags, type FlagValues } from '../../../common/process/flags.ts';
import type { Tags } from '../../clouds/node-tags.ts';
import type { CallLimits } from '../../clouds/token-bucket.ts';
import type { Loops } from './loops.ts';
import { OptionError } from './options.ts';

const of = 'Of the classic controller of aws.';

/** Flags of the classic controller of AWS for the loop that tags instances. */
export const taggingFlags = defineFlags({
  tags: {
    kind: 'list',
    default: [],
    help: `Tags for the instances of Nodes, KEY=VALUE, where --controllers names tagging. ${of}`,
    check: ofTags,
  },
  resources: {
    kind: 'list',
    default: ['instance'],
    choices: ['instance'],
    help: `What --tags is for. ${of}`,
  },
  'tagging-controller-rate-limit': {
    kind: 'number',
    default: 0,
    min: 0,
    help: `Nodes a second whose instances are tagged; 0: no limit beside that of the cloud's calls. ${of}`,
  },
  'tagging-controller-burst-limit': {
    kind: 'int',
    default: 0,
    min: 0,
    help: `Nodes at once with --tagging-controller-rate-limit, which has no effect without it. ${of}`,
  },
  'tagging-controller-concurrent-node-syncs': {
    kind: 'int',
    default: 1,
    help: of,
    ignored: 'one call tags many instances',
  },
  'tagging-controller-enable-batching': {
    kind: 'bool',
    default: false,
    help: of,
    ignored: 'one call always tags many instances',
  },
});

/** The loop that tags instances. */
export interface TaggingOptions {
  /** At least one. */
  readonly tags: Tags;
  /** In Nodes. Undefined: none. */
  readonly limits: CallLimits | undefined;
}

function ofTags(text: string): string | undefined {
  return text === '' || text.split(',').every((tag) => tag.indexOf('=') > 0) ? undefined : 'KEY=VALUE,...';
}

/** Undefined where `--controllers` does not name it. Throws an OptionError that names the flag. */
export function readTaggingOptions(
  values: FlagValues<typeof taggingFlags>,
  loops: Pick<Loops, 'tagging'>,
): TaggingOptions | undefined {
  if (!loops.tagging) return undefined;
  const tags = Object.fromEntries(values.tags.map((tag) => [tag.slice(0, tag.indexOf('=')), valueIn(tag)]));
  if (Object.keys(tags).length === 0)
    throw new OptionError('--tags: "", expected KEY=VALUE, since --controllers names tagging');
  if (values.resources.length === 0)
    throw new OptionError('--resources: "", expected instance, since --controllers names tagging');
  const { taggingControllerRateLimit: perSecond, taggingControllerBurstLimit: burst } = values;
  return { tags, limits: perSecond > 0 && burst > 0 ? { perSecond, burst } : undefined };
}

function valueIn(tag: string): string {
  return tag.slice(tag.indexOf('=') + 1);
}
