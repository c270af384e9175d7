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

/** Takes events and writes them behind the caller's back; may drop them. Never throws. */
export interface EventSink {
  emit(target: EventTarget, event: KubeEvent): void;
}
