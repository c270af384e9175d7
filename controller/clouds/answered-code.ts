/** Codes of calls that the cloud answered, as in the alert about failing calls: what does not exist is an answer. */
export const answeredCodes = 'ok|2..|404|.*NotFound';

const answered = new RegExp(`^(?:${answeredCodes})$`);

/** Whether the code of a call in the metrics is that of an answer, and not of a failure. */
export function isAnswered(code: string): boolean {
  return answered.test(code);
}
