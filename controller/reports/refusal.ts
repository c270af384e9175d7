/** One kind of refusal of the report API. */
export interface RefusalRule {
  readonly status: number;
  readonly meaning: string;
  /** The default `Retry-After` in seconds; absent where a retry is useless. */
  readonly retryAfterSeconds?: number;
}

/** All refusals of the report API, also for the reference. Each code has one status. */
export const refusals = {
  NotLeader: { status: 307, meaning: 'Another replica leads: send the report to the URL in `Location`.' },
  MalformedRequest: { status: 400, meaning: 'The request is no valid HTTP.' },
  NotJson: { status: 400, meaning: 'The body is no JSON.' },
  TokenMissing: { status: 401, meaning: 'The report has no bearer token.' },
  TokenInvalid: {
    status: 401,
    meaning:
      'The API server does not accept the token for this audience: expired, revoked, or issued for another ' +
      'audience.',
  },
  AudienceUnproved: {
    status: 401,
    meaning: 'The review does not confirm our audience, like that of a reviewer without support for audiences.',
  },
  ForeignServiceAccount: { status: 403, meaning: "The token is not that of the agents' ServiceAccount." },
  BindingIncomplete: {
    status: 403,
    meaning: 'The review does not name exactly one pod, node and credential, so the token is not bound to them.',
  },
  NodeUidMissing: {
    status: 403,
    meaning: 'The token was issued before the Node existed; the kubelet replaces it later.',
    retryAfterSeconds: 60,
  },
  NodeUnknown: { status: 403, meaning: 'There is no Node of that name now.', retryAfterSeconds: 10 },
  NodeReplaced: {
    status: 403,
    meaning: 'The Node was created again since the token was issued; the kubelet replaces the token later.',
    retryAfterSeconds: 10,
  },
  UnknownPath: { status: 404, meaning: 'Only POST /v1/report is served.' },
  RequestTooSlow: { status: 408, meaning: 'The request did not arrive completely in time.' },
  ReportTooLarge: { status: 413, meaning: 'The report exceeds the size limit.' },
  NotJsonType: { status: 415, meaning: 'The content type is not application/json.' },
  InvalidReport: { status: 422, meaning: 'The report violates the schema; `field` names the field.' },
  NodeRateLimited: { status: 429, meaning: 'Too many reports from this node.', retryAfterSeconds: 60 },
  AddressRateLimited: {
    status: 429,
    meaning: 'Too many reports without a proved node from this address.',
    retryAfterSeconds: 60,
  },
  HeadersTooLarge: { status: 431, meaning: "The request's headers are too large." },
  InternalError: { status: 500, meaning: 'An internal error of the controller; its log has the details.' },
  NoLeader: { status: 503, meaning: 'No replica leads at the moment.', retryAfterSeconds: 5 },
  ReviewUnavailable: {
    status: 503,
    meaning: 'The API server cannot review tokens at the moment.',
    retryAfterSeconds: 5,
  },
  Busy: { status: 503, meaning: 'Too many token reviews are waiting.', retryAfterSeconds: 2 },
} as const satisfies Readonly<Record<string, RefusalRule>>;

export type RefusalCode = keyof typeof refusals;

/** Refusals of senders that have proved no node. */
export const unproved: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  'TokenMissing',
  'TokenInvalid',
  'AudienceUnproved',
  'ForeignServiceAccount',
  'BindingIncomplete',
  'NodeReplaced',
]);

/** A refused report. The message contains neither the token nor the body. */
export class ReportRefusal extends Error {
  override readonly name = 'ReportRefusal';
  readonly code: RefusalCode;
  readonly status: number;
  readonly field: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** The node that the reviewed token names; for the log, never for the answer. */
  readonly node: string | undefined;

  constructor(
    code: RefusalCode,
    message?: string,
    more: { field?: string; retryAfterSeconds?: number; node?: string | undefined; cause?: unknown } = {},
  ) {
    const rule: RefusalRule = refusals[code];
    super(message ?? rule.meaning, { cause: more.cause });
    this.code = code;
    this.status = rule.status;
    this.field = more.field;
    this.node = more.node;
    this.retryAfterSeconds = more.retryAfterSeconds ?? rule.retryAfterSeconds;
  }
}
