export interface Requeue {
  readonly requeueAfterMs: number;
}
