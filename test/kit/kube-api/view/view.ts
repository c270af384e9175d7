/** The shape a client asked for. */
export interface View {
  readonly as: 'object' | 'table' | 'partial';
  /** What the rows of a table carry. */
  readonly include: 'Metadata' | 'Object' | 'None';
}
