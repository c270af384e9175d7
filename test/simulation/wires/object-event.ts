import type { WatchEvent } from '../../../controller/kube/api.ts';

export interface ObjectEvent {
  readonly type: WatchEvent['type'];
  readonly object: {
    readonly metadata?: { readonly name: string; readonly namespace?: string; readonly resourceVersion?: string };
  };
}
