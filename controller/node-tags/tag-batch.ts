import { type CloudErrorKind, isCloudError } from '../../common/cloud-error.ts';

export interface BatchResult<Item> {
  readonly done: readonly Item[];
  /** Those that the cloud refused for themselves, with why. */
  readonly refused: readonly { readonly item: Item; readonly error: BatchError }[];
  /** Why the others were not sent, or failed. Undefined: there are none. */
  readonly failure: unknown;
}

interface BatchError {
  readonly kind: CloudErrorKind;
  readonly message: string;
}

/** A refusal of these kinds may be about one item of the batch. */
const ofItems: ReadonlySet<CloudErrorKind> = new Set(['NotFound', 'Invalid', 'Conflict', 'QuotaExceeded', 'Forbidden']);
/** Enough to find two in a batch of 100. After that the whole is likely to be refused, and each try is a call. */
const mostRefusals = 12;

/**
 * Sends items in one call that the cloud does for all of them or for none. Refused items are taken out, so that they do
 * not keep the others from theirs: those that the refusal names, and otherwise by halves. Never throws.
 *
 * @param idOf as in `subjects` of a CloudError
 */
export async function sendBatch<Item>(
  items: readonly Item[],
  idOf: (item: Item) => string,
  send: (items: readonly Item[]) => Promise<void>,
): Promise<BatchResult<Item>> {
  const done: Item[] = [];
  const refused: { item: Item; error: BatchError }[] = [];
  const batches = items.length === 0 ? [] : [items];
  for (let refusals = 0, batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
    try {
      await send(batch);
      done.push(...batch);
    } catch (error) {
      if (!isCloudError(error) || !ofItems.has(error.kind)) return { done, refused, failure: error };
      const named = new Set(error.subjects);
      const isOut = (item: Item) => batch?.length === 1 || named.has(idOf(item));
      const rest = batch.filter((item) => !isOut(item));
      refused.push(...batch.filter(isOut).map((item) => ({ item, error })));
      refusals += 1;
      if (refusals >= mostRefusals) return { done, refused, failure: error };
      const half = rest.length < batch.length ? rest.length : Math.ceil(rest.length / 2);
      batches.push(...[rest.slice(half), rest.slice(0, half)].filter(({ length }) => length > 0));
    }
  }
  return { done, refused, failure: undefined };
}
