/** A call that the API refuses with a status and a code of its own. `details` stand beside the code in the answer. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** @param kind `load-balancer`, `address`, ... */
export function notFound(kind: string, id: string): Refused {
  return new Refused(404, `${kind}-not-found`, `no ${kind} ${JSON.stringify(id)}`);
}
