/** The parts of a providerID. They depend on the cloud; an absent part is not contained. */
export interface ProviderIdParts {
  readonly instanceId: string;
  readonly zone?: string;
  readonly region?: string;
}

/** Parses and prints one cloud's providerIDs. Pure. */
export interface ProviderIdCodec {
  /** The cloud's name in `--cloud-provider`. */
  readonly cloud: string;
  /** The scheme before `://`. */
  readonly scheme: string;
  /**
   * Parses a providerID; undefined when the cloud does not accept the text. Accepts forms without a scheme where the
   * cloud's own controller does.
   */
  parse(text: string): ProviderIdParts | undefined;
  /** The canonical form, for writing. Throws a RangeError that names a missing or malformed part. */
  print(parts: ProviderIdParts): string;
  /** Maps all spellings of an instance's id to the same text, where they differ in more than case. */
  comparable?(instanceId: string): string;
}

/** The scheme of a providerID; undefined if it has none. */
export function schemeOf(providerID: string): string | undefined {
  const at = providerID.indexOf('://');
  return at > 0 ? providerID.slice(0, at) : undefined;
}
