/** What an admission webhook is asked about. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: string;
  readonly group: string;
  readonly resource: string;
  /** As it would be stored; not validated. */
  readonly object: unknown;
}

export type AdmissionDecision =
  | {
      readonly allowed: true;
      /** A JSON patch, RFC 6902. */
      readonly patch?: readonly { readonly op: string; readonly path: string; readonly value: unknown }[];
      /** Shown to the client, by kubectl too. */
      readonly warnings?: readonly string[];
    }
  | { readonly allowed: false; readonly code: number; readonly reason: string; readonly message: string };

const version = 'admission.k8s.io/v1';
/** The API server cuts longer warnings off. */
const maxWarning = 256;

/** Throws a TypeError that names the field and what was expected. */
export function readAdmissionReview(text: string): AdmissionRequest {
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch {
    throw new TypeError('body: expected JSON');
  }
  const { apiVersion, kind, request } = fields(review, 'body');
  if (kind !== 'AdmissionReview' || apiVersion !== version)
    throw new TypeError(`kind: expected an AdmissionReview of ${version}`);
  const { uid, operation, resource, object } = fields(request, 'request');
  const { group, resource: plural } = fields(resource, 'request.resource');
  const texts = { 'request.uid': uid, 'request.operation': operation, 'request.resource.resource': plural };
  for (const [field, value] of Object.entries(texts))
    if (typeof value !== 'string' || value === '') throw new TypeError(`${field}: expected a text`);
  if (typeof group !== 'string') throw new TypeError('request.resource.group: expected a text');
  return { uid: uid as string, operation: operation as string, group, resource: plural as string, object };
}

/** The answer to the request of this uid. */
export function admissionReview(uid: string, decision: AdmissionDecision): object {
  return { apiVersion: version, kind: 'AdmissionReview', response: { uid, ...responseOf(decision) } };
}

function responseOf(decision: AdmissionDecision): object {
  if (!decision.allowed) {
    const { code, reason, message } = decision;
    return { allowed: false, status: { status: 'Failure', code, reason, message } };
  }
  const { patch = [], warnings = [] } = decision;
  return {
    allowed: true,
    ...(patch.length > 0 && {
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
    }),
    ...(warnings.length > 0 && { warnings: warnings.map((one) => one.slice(0, maxWarning)) }),
  };
}

function fields(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new TypeError(`${field}: expected an object`);
}
