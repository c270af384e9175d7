// Reporter for node:test: failures in full, nothing for passes, and a last line 'N passed, N failed[, N skipped]'.
// The summary event without `file` is the one for the whole run.
export default async function* report(source) {
  for await (const { type, data } of source) {
    if (type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') {
      const where = data.file ? `${data.file}:${data.line ?? 0}` : '';
      const error = data.details?.error;
      yield `not ok - ${data.name}  ${where}\n${error?.cause?.stack ?? error?.cause ?? error?.stack ?? error}\n\n`;
    } else if (type === 'test:pass' && data.skip !== undefined) {
      yield `skipped - ${data.name}${typeof data.skip === 'string' ? `: ${data.skip}` : ''}\n`;
    } else if (type === 'test:stderr' || type === 'test:stdout') {
      yield data.message;
    } else if (type === 'test:summary' && data.file === undefined) {
      const { passed, failed, cancelled, skipped } = data.counts;
      const bad = failed + cancelled;
      yield `${passed} passed, ${bad} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
    }
  }
}
