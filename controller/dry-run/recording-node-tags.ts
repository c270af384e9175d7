import type { Instance } from '../../common/instance.ts';
import type { NodeTags, Tags } from '../clouds/node-tags.ts';
import type { ChangeRecord } from './change-record.ts';

/** The tags of a cloud's instances, of which no change is sent: it is recorded, and `shown` shows it as done. */
export interface RecordingNodeTags {
  readonly nodeTags: NodeTags;
  shown(instance: Instance): Instance;
}

export function recordingNodeTags(nodeTags: NodeTags, scope: string, record: ChangeRecord): RecordingNodeTags {
  /** By providerID, in the order of the changes. */
  const changes = new Map<string, ((tags: Tags) => Tags)[]>();

  function note(instances: readonly string[], what: string, change: (tags: Tags) => Tags): void {
    for (const target of instances) {
      changes.set(target, [...(changes.get(target) ?? []), change]);
      const object = `instance ${target}`;
      record.set(`${scope} tags ${target}`, [{ of: scope, object, action: 'update', what, target }]);
    }
  }

  return {
    nodeTags: {
      batchSize: nodeTags.batchSize,
      expected: (key, value) => nodeTags.expected(key, value),
      async set(instances, tags, { permit }) {
        permit(0);
        note(instances, `set tags ${shownTags(tags)}`, (held) => ({ ...held, ...tags }));
      },
      async remove(instances, tags, { permit }) {
        permit(0);
        const isLeft = ([key, value]: [string, string]) => tags[key] !== value;
        note(instances, `remove tags ${shownTags(tags)}`, (held) =>
          Object.fromEntries(Object.entries(held).filter(isLeft)),
        );
      },
    },
    shown(instance) {
      const made = changes.get(instance.providerID);
      if (made === undefined || instance.tags === undefined) return instance;
      return { ...instance, tags: made.reduce((tags, change) => change(tags), instance.tags) };
    },
  };
}

function shownTags(tags: Tags): string {
  return Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}
