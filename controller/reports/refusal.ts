/** One way in which the report API refuses. */
export interface RefusalRule {
  readonly status: number;
  readonly meaning: string;
  /** Seconds of `Retry-After` unless the refusal knows better; absent where trying again changes nothing. */
  readonly retryAfterSeconds?: number;
}

/** Every refusal of the report API, for the reference. The status never varies. */
export const refusals = {
  NotLeader: { status: 307, meaning: 'Another replica leads: the report belongs at the URL in `Location`.' },
  MalformedRequest: { status: 400, meaning: 'The request is no valid HTTP.' },
  NotJson: { status: 400, meaning: 'The body is no JSON.' },
  TokenMissing: { status: 401, meaning: 'No bearer token came with the report.' },
  TokenInvalid: {
    status: 401,
    meaning: 'The API server does not accept the token for this audience: expired, revoked, made for another audience.',
  },
  AudienceUnproved: {
    status: 401,
    meaning: 'The review does not confirm our audience, as a reviewer does that knows no audiences.',
  },
  ForeignServiceAccount: { status: 403, meaning: "The token is not of the agents' ServiceAccount." },
  BindingIncomplete: {
    status: 403,
    meaning: 'The review does not name exactly one pod, node and credential: the token is bound to none of them.',
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
  UnknownPath: { status: 404, meaning: 'Only POST /v1/report is served here.' },
  RequestTooSlow: { status: 408, meaning: 'The request did not arrive whole in time.' },
  ReportTooLarge: { status: 413, meaning: 'The report exceeds the size limit.' },
  NotJsonType: { status: 415, meaning: 'The content type is not application/json.' },
  InvalidReport: { status: 422, meaning: 'The report does not follow the schema; `field` names the place.' },
  NodeRateLimited: { status: 429, meaning: 'Too many reports of this node.', retryAfterSeconds: 60 },
  AddressRateLimited: {
    status: 429,
    meaning: 'Too many reports from this address that proved no node.',
    retryAfterSeconds: 60,
  },
  HeadersTooLarge: { status: 431, meaning: "The request's headers are too large." },
  InternalError: { status: 500, meaning: 'A fault of the controller; its log has it.' },
  NoLeader: { status: 503, meaning: 'No replica leads at the moment.', retryAfterSeconds: 5 },
  ReviewUnavailable: {
    status: 503,
    meaning: 'The API server cannot review tokens at the moment.',
    retryAfterSeconds: 5,
  },
  Busy: { status: 503, meaning: 'Too many token reviews are waiting.', retryAfterSeconds: 2 },
} as const satisfies Readonly<Record<string, RefusalRule>>;

export type RefusalCode = keyof typeof refusals;

/** Refusals that say: whoever this is has proved nothing. */
export const unproved: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  'TokenMissing',
  'TokenInvalid',
  'AudienceUnproved',
  'ForeignServiceAccount',
  'BindingIncomplete',
  'NodeReplaced',
]);

/** A report that is not taken. Its message holds no token and no body. */
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
