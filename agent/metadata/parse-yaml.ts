import { CloudError } from '../../common/cloud-error.ts';

/**
 * Parsed YAML in which every scalar is the text it was written as: an id that looks like a number stays what it is. A CloudError `Invalid` that shows none of the text when it is none.
 * The parser is loaded here and nowhere else, so that agents of clouds without YAML never run it.
 */
export async function parseYaml(cloud: string, operation: string, text: string): Promise<unknown> {
  const { parse } = await import('yaml');
  try {
    return parse(text, { schema: 'failsafe', logLevel: 'error' });
  } catch {
    // The parser's own words quote the document.
    throw new CloudError({ cloud, operation, kind: 'Invalid', message: `answer of ${text.length} bytes is not YAML` });
  }
}
