export const secureStatuses = [200, 400, 401, 403, 404, 405, 417, 429] as const;
export type SecureStatus = (typeof secureStatuses)[number];

export type SecureOutcome = `secure ${SecureStatus}`;
