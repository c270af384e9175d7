/** The object an Event is about. */
export interface EventTarget {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
}

export interface KubeEvent {
  readonly type: 'Normal' | 'Warning';
  /** A stable code, e.g. `Synced`, `DeletingNode`. */
  readonly reason: string;
  readonly message: string;
}

/** Accepts events and writes them in the background; may drop some. Never throws. */
export interface EventSink {
  emit(target: EventTarget, event: KubeEvent): void;
}
