import fs.FS;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Vector;

/**
 * DimReduction's exhaustive search over pairs: the least penalised entropy of each gene's next level.
 *
 * <p>Usage: DimReduction FOLDER LEVELS, with levels.tsv and transitions.tsv. Prints a line for each
 * gene, the entropy and the number of each of its two predictors, then seconds of the processor.
 */
public class DimReduction {
    public static void main(String[] given) throws Exception {
        List<String> rows = Files.readAllLines(Path.of(given[0], "levels.tsv"));
        List<String> steps = Files.readAllLines(Path.of(given[0], "transitions.tsv"));
        int levels = Integer.parseInt(given[1]);
        int genes = rows.size();
        String[][] table = new String[genes][];
        for (int gene = 0; gene < genes; gene++) {
            table[gene] = rows.get(gene).split("\t");
        }
        StringBuilder found = new StringBuilder();
        long start = System.nanoTime();
        for (int target = 0; target < genes; target++) {
            char[][] samples = new char[steps.size()][genes];
            for (int row = 0; row < samples.length; row++) {
                String[] times = steps.get(row).split("\t");
                for (int gene = 0, column = 0; gene < genes; gene++) {
                    if (gene != target) {
                        samples[row][column++] = level(table[gene], times[0]);
                    }
                }
                samples[row][genes - 1] = level(table[target], times[1]);
            }
            FS search = new FS(samples, levels, levels, "no_obs", 1f, 0.8f, 1f, 1);
            search.itmax = 2;
            search.hGlobal = 2f;
            search.runExhaustive(0, 0, new Vector<Integer>());
            found.append(search.hGlobal);
            for (Object column : search.I) {
                int other = (Integer) column;
                found.append('\t').append(other < target ? other : other + 1);
            }
            found.append('\n');
        }
        System.out.print(found);
        System.out.println((System.nanoTime() - start) / 1e9);
    }

    private static char level(String[] row, String time) {
        return (char) Integer.parseInt(row[Integer.parseInt(time) + 1]);
    }
}
