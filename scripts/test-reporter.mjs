// Reporter for node:test: failures in full, nothing for passes, and a last line 'N passed, N failed[, N skipped]'.
// The summary of the whole run is the one without `file`, or with the file that has loaded all the others.
const ofWholeRun = (file) => file === undefined || file === process.argv[1];
const stray = /^Error: A resource generated asynchronous activity/;

export default async function* report(source) {
  let strays = 0;
  for await (const { type, data } of source) {
    if (type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') {
      const where = data.file ? `${data.file}:${data.line ?? 0}` : '';
      const error = data.details?.error;
      yield `not ok - ${data.name}  ${where}\n${error?.cause?.stack ?? error?.cause ?? error?.stack ?? error}\n\n`;
    } else if (type === 'test:pass' && data.skip !== undefined) {
      yield `skipped - ${data.name}${typeof data.skip === 'string' ? `: ${data.skip}` : ''}\n`;
    } else if (type === 'test:stderr' || type === 'test:stdout') {
      yield data.message;
    } else if (type === 'test:diagnostic' && stray.test(data.message)) {
      strays += 1;
      yield `not ok - an error that nobody caught\n${data.message}\n\n`;
    } else if (type === 'test:summary' && ofWholeRun(data.file)) {
      const { passed, failed, cancelled, skipped } = data.counts;
      const bad = failed + cancelled + strays;
      yield `${passed} passed, ${bad} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
    }
  }
}
